"""Authentication by tokens."""

from typing import Any

from django.contrib.auth.models import AnonymousUser
from rest_framework import authentication
from rest_framework.request import Request

from usergroups.api.errors import InvalidToken, WrongTokenKind
from usergroups.api.throttling import FailedAuthenticationThrottle

from . import secret_format
from .models import Token


class TokenAuthentication(authentication.TokenAuthentication):
    """Sets ``request.auth`` to the token.

    ``request.user`` is anonymous, since the owner of a token is not a user.
    """

    model: type[Token]

    @property
    def usage(self) -> str:
        """A sentence that says how to authenticate."""
        placeholder = self.model._meta.verbose_name_raw.upper().replace(" ", "_")
        return f"This path takes `Authorization: {self.keyword} <{placeholder}>`."

    def authenticate(self, request: Request) -> tuple[Any, Any] | None:
        header = (
            request.META.get("HTTP_AUTHORIZATION", "").replace("\t", " ").strip(" ")
        )
        scheme, _, credentials = header.partition(" ")
        if scheme.lower() != self.keyword.lower():
            return None
        secret = credentials.lstrip(" ")
        # BaseAPIView.owner_fields, the large fields of the owner that the
        # response needs. Views of a host may lack it.
        owner_fields = getattr(
            (request.parser_context or {}).get("view"), "owner_fields", {}
        ).get(request.method, ())
        token = self.model.objects.authenticate(secret, owner_fields)
        if token is None:
            FailedAuthenticationThrottle().add(request)
            prefix = secret.partition("_")[0]
            if prefix != self.model.prefix and secret_format.is_well_formed(
                secret, prefix
            ):
                raise WrongTokenKind(f"The token is of another kind. {self.usage}")
            raise InvalidToken
        token.mark_used(request)
        return AnonymousUser(), token

    def authenticate_header(self, request: Request) -> str:
        return f'{self.keyword} realm="api"'


class BearerTokenAuthentication(TokenAuthentication):
    """The Bearer scheme of RFC 6750."""

    keyword = "Bearer"

    def authenticate_header(self, request: Request) -> str:
        challenge = super().authenticate_header(request)
        scheme, _, credentials = authentication.get_authorization_header(
            request
        ).partition(b" ")
        if credentials.strip() and scheme.lower() == self.keyword.lower().encode():
            # By RFC 6750, section 3, a request without a bearer token gets no
            # error code.
            challenge += ', error="invalid_token"'
        return challenge
