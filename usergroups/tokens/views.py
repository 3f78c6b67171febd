"""The base classes of the views that require a token, and of those that
rotate it.
"""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, ClassVar, cast

from django.core.exceptions import ObjectDoesNotExist
from django.utils.encoding import escape_uri_path
from rest_framework.authentication import BaseAuthentication
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import Serializer

from usergroups.api.views import BaseAPIView

from .authentication import TokenAuthentication
from .models import Token, TooManyRotations, TooManyTokens
from .permissions import TokenPermission
from .rotation_errors import (
    AlreadyRotated,
    TooManyRotationsOfToken,
    TooManyTokensToRotate,
)
from .serializers import SuccessorEnvelope, TokenRotationSerializer, TokenSerializer


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

    def described_token(self) -> Token:
        """Return the token of the request with its lineage."""
        token = cast(Token, self.request.auth)
        if token.predecessor_id is None and token.rotated_at is None:
            return token
        tokens = type(token).objects.for_write().filter(pk=token.pk)
        return tokens.with_lineage().first() or token


class RotateTokenView(TokenView):
    """A view whose method ``post`` calls ``rotate``.

    Its path is that of a view that describes the token, and ``/rotate``.
    """

    request_serializers = {"POST": TokenRotationSerializer}
    response_serializers = {"POST": SuccessorEnvelope}
    serializer_class = TokenSerializer
    errors = {
        # The token is no longer active, or already has a successor.
        ObjectDoesNotExist: AlreadyRotated,
        TooManyTokens: TooManyTokensToRotate,
        TooManyRotations: TooManyRotationsOfToken,
    }

    def rotate(self, request: Request) -> Response:
        """Rotate the token of the request, and return a response with its
        successor.
        """
        serializer = self.get_valid_serializer()
        self.perform_create(serializer)
        location = escape_uri_path(self.request.path).rpartition("/")[0]
        successor = serializer.instance
        return self.respond({"token": successor}, status=201, location=location)

    def perform_create(self, serializer: Serializer[Any]) -> None:
        """Rotate the token.

        Raises DoesNotExist, TooManyTokens or TooManyRotations.
        """
        token = cast(Token, self.request.auth)
        grace = timedelta(seconds=serializer.validated_data.get("grace", 0))
        successor, secret = token.rotate(grace, limited=True)
        # for this response only
        successor.secret = secret  # type: ignore[attr-defined]
        serializer.instance = successor
