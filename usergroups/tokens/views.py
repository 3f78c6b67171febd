"""The base classes of the views that require a token, and of those that
rotate it.
"""

from collections.abc import Mapping
from datetime import timedelta
from typing import ClassVar, cast

from django.core.exceptions import ObjectDoesNotExist
from django.utils.encoding import escape_uri_path
from rest_framework.authentication import BaseAuthentication

from usergroups.api.parsers import NoBodyParser, OptionalBodyParser
from usergroups.api.serializers import AnySerializer
from usergroups.api.views import BaseAPIView, CreateMixin

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
        # drf-spectacular may describe the view without a request.
        method = getattr(self.request, "method", None)
        large_owner_fields = self.large_owner_fields.get(method, ())
        authenticators: list[BaseAuthentication] = []
        for kind in self.authentication_classes:
            if issubclass(kind, TokenAuthentication):
                authenticators.append(kind(large_owner_fields))
            else:
                authenticators.append(kind())
        return authenticators

    def token_with_lineage(self) -> Token:
        """Return the token of the request, with what ``with_lineage()`` adds."""
        token = cast(Token, self.request.auth)
        # Without a rotation, there is nothing to add.
        if token.predecessor_id is None and token.rotated_at is None:
            return token
        tokens = type(token).objects.for_write().filter(pk=token.pk)
        # The token may have been deleted in the meantime.
        return tokens.with_lineage().first() or token


class RotateTokenView(CreateMixin, TokenView):
    """Issues a successor of the token of the request.

    Its path is that of a view that describes the token, and ``/rotate``.
    """

    request_serializers = {"POST": TokenRotationSerializer}
    response_serializers = {"POST": SuccessorEnvelope}
    parser_classes = [OptionalBodyParser, NoBodyParser]
    serializer_class = TokenSerializer
    object_name = "token"
    errors = {
        # The token is no longer active, or already has a successor.
        ObjectDoesNotExist: AlreadyRotated,
        TooManyTokens: TooManyTokensToRotate,
        TooManyRotations: TooManyRotationsOfToken,
    }

    def location_of(self, instance: object) -> str:
        return escape_uri_path(self.request.path).rpartition("/")[0]

    def perform_create(self, serializer: AnySerializer) -> None:
        """Rotate the token.

        Raises DoesNotExist, TooManyTokens or TooManyRotations.
        """
        token = cast(Token, self.request.auth)
        grace = timedelta(seconds=serializer.validated_data.get("grace", 0))
        successor, secret = token.rotate(grace, limited=True)
        # for this response only
        successor.secret = secret  # type: ignore[attr-defined]
        serializer.instance = successor
