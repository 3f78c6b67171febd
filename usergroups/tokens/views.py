"""The base class of views that require a token."""

from collections.abc import Mapping
from typing import Any, ClassVar

from django.db import IntegrityError, router
from django.http.response import HttpResponseBase
from django.utils.module_loading import import_string
from rest_framework.authentication import get_authorization_header
from rest_framework.exceptions import APIException, NotAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response

from usergroups.contract import conf
from usergroups.contract.errors import DatabaseUnavailable
from usergroups.contract.views import ContractView
from usergroups.signals import acting_as, set_actor

from .authentication import InvalidToken, TokenPermission, WrongScheme
from .models import Token
from .throttling import TokenThrottle


class TokenView(ContractView):
    """A view that requires a token. A subclass sets ``authentication_classes``."""

    permission_classes = [TokenPermission]
    throttle_classes = [TokenThrottle]
    errors: ClassVar[Mapping[type[Exception], type[APIException]]] = {}
    """The error responses to exceptions of the querysets."""
    owner_fields: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    """The large fields of the token's owner that a response has, by method. Other calls do not read them."""
    is_authenticated = False

    def dispatch(self, *args: Any, **kwargs: Any) -> HttpResponseBase:
        with acting_as(None):  # initial() sets the actor, which is known after the authentication.
            return super().dispatch(*args, **kwargs)

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        set_actor(request.auth)

    def get_permissions(self) -> list[Any]:
        """Return the permissions of the host for all views, and then those of this view."""
        return [*(import_string(path)() for path in conf.permission_classes()), *super().get_permissions()]

    def perform_authentication(self, request: Request) -> None:
        """Require a token, whatever the permissions of a subclass are."""
        super().perform_authentication(request)
        self.is_authenticated = isinstance(request.auth, Token)
        if self.is_authenticated:
            return
        if get_authorization_header(request):
            first = next(iter(self.get_authenticators()), None)
            raise WrongScheme(getattr(first, "usage", None))
        raise NotAuthenticated

    def handle_exception(self, exc: Exception) -> Response:
        if type(exc) in self.errors:
            exc = self.errors[type(exc)]()
        elif isinstance(exc, IntegrityError) and self.is_authenticated:
            # Either the token's owner was deleted during the request, and the token with it, or all retries failed.
            owner: Any = self.request.auth.owner  # type: ignore[union-attr]
            exists = type(owner).objects.using(router.db_for_write(type(owner))).filter(pk=owner.pk).exists()
            error = DatabaseUnavailable() if exists else InvalidToken()
            error.__cause__ = exc  # for the log
            exc = error
        return super().handle_exception(exc)
