"""Authentication by tokens."""

from typing import NoReturn

from django.apps import apps
from django.contrib.auth.models import AnonymousUser
from rest_framework import authentication
from rest_framework.request import Request

from usergroups.api.errors import InvalidToken, WrongTokenKind
from usergroups.api.throttling import FailedAuthenticationThrottle

from . import secret_format
from .models import Token


class TokenUser(AnonymousUser):
    """The user of a request that a token authenticates: no account and without
    permissions, but with an identity, that of the token's owner.

    DRF's UserRateThrottle, for example, counts by its ``pk``.
    """

    is_authenticated = True  # type: ignore[assignment]

    def __init__(self, token: Token) -> None:
        self.token = token

    @property
    def pk(self) -> str:  # type: ignore[override]
        owner = self.token.owner
        return f"{owner._meta.label_lower}:{owner.pk}"


def mark_refused(secret: str, prefix: str) -> None:
    """Store that a call with a token of another kind was refused, which the
    admin shows on its page.
    """
    for model in apps.get_models():
        if issubclass(model, Token) and model.prefix == prefix:
            token = model.objects.with_secret(secret)
            if token is not None:
                token.mark_refused()


class TokenAuthentication(authentication.TokenAuthentication):
    """Sets ``request.auth`` to the token, and ``request.user`` to a TokenUser."""

    model: type[Token]

    def __init__(self, large_owner_fields: tuple[str, ...] = ()) -> None:
        """Load these large fields of the owner with the token."""
        self.large_owner_fields = large_owner_fields

    @property
    def usage(self) -> str:
        """A sentence that says how to authenticate."""
        placeholder = self.model._meta.verbose_name_raw.upper().replace(" ", "_")
        return f"This path takes `Authorization: {self.keyword} <{placeholder}>`."

    def authenticate(self, request: Request) -> tuple[TokenUser, Token] | None:
        header = request.META.get("HTTP_AUTHORIZATION")
        if header is None:
            return None
        # Granian passes a value that is not ASCII as an empty one.
        if not header:
            raise InvalidToken("The header Authorization is empty or not ASCII.")
        header = header.replace("\t", " ").strip(" ")
        scheme, _, credentials = header.partition(" ")
        if scheme.lower() != self.keyword.lower():
            return None
        secret = credentials.lstrip(" ")
        token = self.model.objects.with_secret(secret, self.large_owner_fields)
        if token is None or not token.is_active:
            FailedAuthenticationThrottle().add(request)
            if token is not None:
                token.mark_refused()
            self.refuse(secret)
        token.mark_used(request)
        return TokenUser(token), token

    def refuse(self, secret: str) -> NoReturn:
        """Raise InvalidToken, or WrongTokenKind if the secret is well formed
        but has another prefix.
        """
        prefix = secret.partition("_")[0]
        is_secret = secret_format.is_well_formed(secret, prefix)
        if is_secret and prefix != self.model.prefix:
            mark_refused(secret, prefix)
            raise WrongTokenKind(f"The token is of another kind. {self.usage}")
        raise InvalidToken

    def authenticate_header(self, request: Request) -> str:
        return f'{self.keyword} realm="api"'


class BearerTokenAuthentication(TokenAuthentication):
    """The Bearer scheme of RFC 6750."""

    keyword = "Bearer"

    def authenticate_header(self, request: Request) -> str:
        challenge = super().authenticate_header(request)
        header = authentication.get_authorization_header(request)
        scheme, _, credentials = header.replace(b"\t", b" ").strip(b" ").partition(b" ")
        if credentials.strip() and scheme.lower() == self.keyword.lower().encode():
            # By RFC 6750, section 3, a request without a bearer token gets no
            # error code.
            challenge += ', error="invalid_token"'
        return challenge
