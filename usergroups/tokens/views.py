"""The base class of the views that require a token."""

from collections.abc import Mapping
from typing import ClassVar

from rest_framework.authentication import BaseAuthentication
from rest_framework.request import Request

from usergroups.api.views import BaseAPIView

from .authentication import TokenAuthentication
from .models import Token
from .permissions import TokenPermission


class TokenView(BaseAPIView):
    """A view that requires a token.

    A subclass sets ``authentication_classes`` to a TokenAuthentication.
    """

    permission_classes = [TokenPermission]
    large_owner_fields: ClassVar[Mapping[str | None, tuple[str, ...]]] = {}
    """By method, the large fields of the token's owner that the response
    contains. Authentication loads no others.
    """

    def get_authenticators(self) -> list[BaseAuthentication]:
        authenticators = super().get_authenticators()
        # drf-spectacular may describe the view without a request.
        method = getattr(self.request, "method", None)
        large_owner_fields = self.large_owner_fields.get(method, ())
        for authenticator in authenticators:
            if isinstance(authenticator, TokenAuthentication):
                authenticator.large_owner_fields = large_owner_fields
        return authenticators

    def perform_authentication(self, request: Request) -> None:
        # Without a valid token, DRF sets the host's UNAUTHENTICATED_TOKEN,
        # which may be any object.
        if not isinstance(request.auth, Token):
            self.refuse_credentials(request)
