"""The base class of the views that require a token."""

from rest_framework.request import Request

from usergroups.api.views import BaseAPIView

from .models import Token
from .permissions import TokenPermission


class TokenView(BaseAPIView):
    """A view that requires a token.

    A subclass sets ``authentication_classes`` to a TokenAuthentication.
    """

    permission_classes = [TokenPermission]

    def perform_authentication(self, request: Request) -> None:
        # DRF's setting UNAUTHENTICATED_TOKEN may be any object.
        if not isinstance(request.auth, Token):
            self.refuse_credentials(request)
