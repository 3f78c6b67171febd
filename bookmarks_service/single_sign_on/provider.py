"""The identity provider, and the claims that it vouches for."""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit

import jwt
import requests
from django.conf import settings
from django.http import HttpRequest
from mozilla_django_oidc.auth import OIDCAuthenticationBackend
from mozilla_django_oidc.utils import import_from_settings

ENDPOINTS = {
    "OIDC_OP_AUTHORIZATION_ENDPOINT": "authorization_endpoint",
    "OIDC_OP_TOKEN_ENDPOINT": "token_endpoint",
    "OIDC_OP_USER_ENDPOINT": "userinfo_endpoint",
    "OIDC_OP_JWKS_ENDPOINT": "jwks_uri",
}
"""The settings of mozilla-django-oidc that the provider's metadata answer, with their names there."""

METADATA_LIFETIME = 3600  # seconds
CLOCK_SKEW = 60  # seconds
ALGORITHMS = ["RS256", "ES256"]


class InvalidResponse(Exception):
    """The provider sent something that the protocol does not allow."""


FAILURES = (requests.RequestException, jwt.PyJWTError, InvalidResponse)
"""What the calls to the provider raise if it cannot be reached, or if its response is invalid."""


@contextmanager
def parsing() -> Iterator[None]:
    """Report data of the provider that have another shape than expected as an InvalidResponse.

    Decorate only functions that read such data, because this also hides errors in their code.
    """
    try:
        yield
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        raise InvalidResponse("The data have another shape.") from error


@lru_cache(maxsize=1)
@parsing()
def metadata(issuer: str, period: int) -> Mapping[str, Any]:
    """Return the provider's description of itself, from OpenID Connect Discovery."""
    url = f"{issuer.rstrip('/')}/.well-known/openid-configuration"
    response = requests.get(url, timeout=settings.OIDC_TIMEOUT)
    response.raise_for_status()
    found: dict[str, Any] = response.json()
    if found["issuer"] != issuer:
        raise InvalidResponse("The metadata have another issuer than OIDC_ISSUER.")
    scheme = "https://" if issuer.startswith("https:") else "http"
    if not all(found[name].startswith(scheme) and urlsplit(found[name]) for name in ENDPOINTS.values()):
        raise InvalidResponse("An endpoint has no URL, or one without TLS.")
    return found


def protocol_setting(name: str, *default: Any) -> Any:
    """Return a setting of mozilla-django-oidc. Those that depend on the provider come from its metadata."""
    current = metadata(settings.OIDC_ISSUER, int(time.time() // METADATA_LIFETIME))
    if name in ENDPOINTS:
        return current[ENDPOINTS[name]]
    if name == "OIDC_TOKEN_USE_BASIC_AUTH":
        return not is_listed("client_secret_post", current, "token_endpoint_auth_methods_supported")
    if name == "OIDC_RP_SCOPES" and is_listed(settings.OIDC_ROLES_CLAIM, current, "scopes_supported"):
        return f"{settings.OIDC_RP_SCOPES} {settings.OIDC_ROLES_CLAIM}"
    return import_from_settings(name, *default)


@parsing()
def is_listed(value: str, document: Mapping[str, Any], name: str) -> bool:
    """Return whether the value is in the list with this name, which may be absent."""
    return value in document.get(name, [])


class IdentityProvider(OIDCAuthenticationBackend):
    """Exchange the code of a sign-in for claims.

    mozilla-django-oidc does not check the audience, the issuer, or that both responses are about the same subject. It
    is not in AUTHENTICATION_BACKENDS, because it would read a code from the address of any login.
    """

    get_settings = staticmethod(protocol_setting)

    def claims(self, request: HttpRequest, pending: Mapping[str, str]) -> dict[str, Any]:
        """Return the claims for the code in the request. ``pending`` has the nonce and the verifier of PKCE."""
        found: dict[str, Any] | None
        found = self.authenticate(request, nonce=pending["nonce"], code_verifier=pending["code_verifier"])
        if not found:
            raise InvalidResponse("The userinfo endpoint sent an invalid token.")
        return found

    @parsing()
    def get_token(self, payload: dict[str, str]) -> dict[str, Any]:
        return {**super().get_token(payload)}

    @parsing()
    def retrieve_matching_jwk(self, token: Any) -> jwt.PyJWK:
        key: jwt.PyJWK = super().retrieve_matching_jwk(token)
        return key

    @parsing()
    def get_userinfo(self, *args: Any) -> dict[str, Any]:
        return {**super().get_userinfo(*args)}

    def get_payload_data(self, token: Any, key: Any) -> dict[str, Any]:
        payload: dict[str, Any] = jwt.decode(
            token,
            key,
            ALGORITHMS,
            audience=settings.OIDC_RP_CLIENT_ID,
            issuer=settings.OIDC_ISSUER,
            leeway=CLOCK_SKEW,
            options={"require": ["iss", "sub", "aud", "exp", "iat"]},
        )
        if not (payload["sub"] and payload["sub"].isascii()):
            raise InvalidResponse("The subject is empty or not in ASCII.")
        if payload.get("azp", settings.OIDC_RP_CLIENT_ID) != settings.OIDC_RP_CLIENT_ID:
            raise InvalidResponse("The ID token was issued for another client.")
        return payload

    def get_or_create_user(self, access_token: str, id_token: str, payload: dict[str, Any]) -> dict[str, Any]:
        """Return the claims of both the userinfo endpoint and the ID token."""
        claims = self.get_userinfo(access_token, id_token, payload)
        if claims.get("sub") != payload["sub"]:
            raise InvalidResponse("The userinfo endpoint describes another subject.")
        return {**claims, **payload}
