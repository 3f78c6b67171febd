"""The base class of views that require a token."""

from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any, ClassVar

from django.db import IntegrityError
from django.http.response import HttpResponseBase
from rest_framework.exceptions import APIException
from rest_framework.request import Request
from rest_framework.response import Response

from usergroups.contract.errors import DatabaseUnavailable
from usergroups.contract.views import ContractView
from usergroups.signals import acting_as

from .authentication import InvalidToken, TokenPermission
from .throttling import TokenThrottle


class TokenView(ContractView):
    """A view that requires a token. A subclass sets ``authentication_classes``."""

    permission_classes = [TokenPermission]
    throttle_classes = [TokenThrottle]
    errors: ClassVar[Mapping[type[Exception], type[APIException]]] = {}
    """The error responses to exceptions of the querysets."""

    def dispatch(self, *args: Any, **kwargs: Any) -> HttpResponseBase:
        with ExitStack() as self.during_call:
            return super().dispatch(*args, **kwargs)

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        self.during_call.enter_context(acting_as(request.auth))

    def handle_exception(self, exc: Exception) -> Response:
        if type(exc) in self.errors:
            exc = self.errors[type(exc)]()
        elif isinstance(exc, IntegrityError):
            # Either the token's owner was deleted during the request, and the token with it, or all retries failed.
            owner: Any = self.request.auth.owner  # type: ignore[union-attr]
            exists = type(owner).objects.filter(pk=owner.pk).exists()
            error = DatabaseUnavailable() if exists else InvalidToken()
            error.__cause__ = exc  # for the log
            exc = error
        return super().handle_exception(exc)
