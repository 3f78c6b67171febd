"""The base class of views that require a token."""

from collections.abc import Mapping
from typing import Any, ClassVar

from django.core.exceptions import ObjectDoesNotExist
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
    not_found: ClassVar[Mapping[type[ObjectDoesNotExist], type[APIException]]] = {}
    """The error for each model's DoesNotExist."""

    def handle_exception(self, exc: Exception) -> Response:
        if isinstance(exc, ObjectDoesNotExist) and type(exc) in self.not_found:
            exc = self.not_found[type(exc)]()
        elif isinstance(exc, IntegrityError):
            # Either the token's owner was deleted during the request, and the token with it, or all retries failed.
            owner: Any = self.request.auth.owner  # type: ignore[union-attr]
            exists = type(owner).objects.filter(pk=owner.pk).exists()
            error = DatabaseUnavailable() if exists else InvalidToken()
            error.__cause__ = exc  # for the log
            exc = error
        return super().handle_exception(exc)
