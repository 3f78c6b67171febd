"""The base class of views that require a token."""

from collections.abc import Mapping
from typing import Any, ClassVar

from django.db import IntegrityError
from rest_framework.exceptions import APIException
from rest_framework.response import Response

from usergroups.contract.errors import DatabaseUnavailable
from usergroups.contract.views import ContractView

from .authentication import InvalidToken, TokenPermission
from .throttling import TokenThrottle


class TokenView(ContractView):
    """A view that requires a token. A subclass sets ``authentication_classes``."""

    permission_classes = [TokenPermission]
    throttle_classes = [TokenThrottle]
    errors: ClassVar[Mapping[type[Exception], type[APIException]]] = {}
    """The error responses to exceptions of the querysets."""

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
