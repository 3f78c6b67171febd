"""The sign-in of operators with OpenID Connect.

Authlib implements the protocol. Its client for Django has discovery, PKCE,
timeouts and no models. mozilla-django-oidc checks neither issuer nor audience,
and django-allauth has sign-up and tables of its own.

In addition to Authlib, this module allows only RS256 and ES256, and checks
that the metadata have the configured issuer, that no endpoint lacks TLS, and
that the userinfo response has the subject of the ID token.
"""

import logging
import re
import time
from collections.abc import Callable
from datetime import timedelta
from functools import lru_cache
from hashlib import sha256
from threading import BoundedSemaphore
from typing import Any, TypeAlias, TypeVar

from authlib.integrations.django_client import OAuth
from django.conf import settings
from django.contrib.auth import login, models
from django.core import signing
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import path, reverse
from django.utils import timezone
from django.utils.encoding import iri_to_uri
from django.views.decorators.cache import never_cache

from .handlers import get_only

logger = logging.getLogger(__name__)

# Authlib has no types.
Client: TypeAlias = Any
Claims: TypeAlias = dict[str, Any]
T = TypeVar("T")

FAILED = "admin/sign_in_failed.html"
# At most this many threads of a process wait for the provider at once, so that
# the others serve the API.
PROVIDER_SLOTS = BoundedSemaphore(4)
ENDPOINTS = (
    "authorization_endpoint",
    "token_endpoint",
    "userinfo_endpoint",
    "jwks_uri",
)
NAMES = ("name", "preferred_username", "email", "sub")
COOKIE = "sign_in"
MAX_WAIT = 600  # seconds at the provider
MAX_NEXT = 2000  # bytes of a URL, because browsers drop cookies of over 4,096 bytes
UNSTORABLE = re.compile(r"[\0\ud800-\udfff]")  # characters that the database refuses


def start(request: HttpRequest) -> HttpResponse:
    """Redirect to the provider.

    Until the provider redirects back, a signed cookie keeps the state, the
    nonce and the verifier of PKCE. A session would store a row for each
    visitor.
    """
    callback_url = request.build_absolute_uri(reverse("single_sign_on_callback"))
    sign_in = ask_provider(lambda client: client.create_authorization_url(callback_url))
    if sign_in is None:
        return render(request, FAILED, {"reason": "provider"}, status=502)
    # It has the URL of the provider, the state, the nonce and the verifier.
    response = HttpResponseRedirect(sign_in.pop("url"))
    next_page = iri_to_uri(request.GET.get("next", ""))
    if len(next_page) > MAX_NEXT:
        next_page = ""
    values = {**sign_in, "callback_url": callback_url, "next": next_page}
    cookie = signing.dumps(values, salt=COOKIE)
    response.set_cookie(
        COOKIE,
        cookie,
        max_age=MAX_WAIT,
        path=reverse("single_sign_on"),
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )
    return response


def callback(request: HttpRequest) -> HttpResponse:
    """Log in the operator whom the provider has sent back, and delete the
    cookie.
    """
    try:
        cookie = request.COOKIES.get(COOKIE, "")
        sign_in = signing.loads(cookie, salt=COOKIE, max_age=MAX_WAIT)
    except signing.BadSignature:
        sign_in = None
    response = finish(request, sign_in)
    response.delete_cookie(COOKIE, path=reverse("single_sign_on"), samesite="Lax")
    return response


def finish(request: HttpRequest, sign_in: dict[str, str] | None) -> HttpResponse:
    """Log in the operator whose sign-in began with these values, or say why
    not.
    """
    if sign_in is None or request.GET.get("state") != sign_in["state"]:
        return render(request, FAILED, {"reason": "unknown"}, status=400)
    # Without a code, the provider has sent an error such as access_denied.
    if "code" not in request.GET:
        return render(request, FAILED, {"reason": "refused"}, status=403)
    claims = ask_provider(
        lambda client: get_claims(client, request.GET["code"], sign_in)
    )
    if claims is None:
        return render(request, FAILED, {"reason": "provider"}, status=502)
    user = update_account(claims)
    if user is None or not (user.is_staff and user.is_active):
        return render(request, FAILED, {"reason": "account"}, status=403)
    login(request, user, "django.contrib.auth.backends.RemoteUserBackend")
    # After eight hours the operator signs in again, and gets the roles that the
    # provider sends then.
    request.session.set_expiry(timezone.now() + timedelta(hours=8))
    index = reverse("admin:index")
    next_page = sign_in["next"]
    # Do not redirect to another site.
    if not next_page.startswith(index):
        next_page = index
    return HttpResponseRedirect(next_page)


def ask_provider(call: Callable[[Client], T]) -> T | None:
    """Return the result of ``call`` with a client, or None if it fails or too
    many threads wait for the provider.

    The log has only the kind of error and the response's status, because the
    message may quote what the provider sent.
    """
    if not PROVIDER_SLOTS.acquire(blocking=False):
        return None
    try:
        return call(get_client())
    except Exception as error:  # Authlib does not check the shape of responses.
        logger.warning(
            "Single sign-on failed: %s %s",
            type(error).__name__,
            getattr(error, "response", ""),
        )
        return None
    finally:
        PROVIDER_SLOTS.release()


def get_client() -> Client:
    """Return a new client, which reads the keys of the provider again.

    Changed keys take effect at once, and changed metadata within a minute.
    """
    # The setting AUTHLIB_OAUTH_CLIENTS describes "provider".
    client = OAuth().register("provider")
    # The cached result is that of the same minute.
    minute = int(time.time()) // 60
    client.server_metadata.update(load_metadata(minute))
    metadata = client.server_metadata
    # Some providers send the claim only if its scope is requested.
    if settings.OIDC_ROLES_CLAIM in metadata.get("scopes_supported", []):
        scope = client.client_kwargs["scope"]
        client.authorize_params = {"scope": f"{scope} {settings.OIDC_ROLES_CLAIM}"}
    # Authlib accepts the algorithms in this list only.
    metadata["id_token_signing_alg_values_supported"] = ["RS256", "ES256"]
    return client


@lru_cache(maxsize=1)
def load_metadata(minute: int) -> dict[str, Any]:
    """Return the provider's metadata.

    The argument is only the key of the cache, so that each process reads the
    metadata once a minute. Otherwise, each anonymous visit would be a request
    to the provider. Raises ValueError if the metadata are not valid.
    """
    metadata: dict[str, Any] = OAuth().register("provider").load_server_metadata()
    if metadata["issuer"] != settings.OIDC_ISSUER:
        raise ValueError("The metadata have another issuer.")
    # "https", or "http" in development
    scheme = settings.OIDC_ISSUER.partition("://")[0]
    for name in ENDPOINTS:
        if not metadata[name].startswith(scheme):
            raise ValueError("The metadata have an endpoint without TLS.")
    return metadata


def get_claims(client: Client, code: str, sign_in: dict[str, str]) -> Claims:
    """Return the claims of the ID token and of the userinfo endpoint, which
    must have the same subject.
    """
    token = client.fetch_access_token(
        sign_in["callback_url"], code=code, code_verifier=sign_in["code_verifier"]
    )
    required = {
        "iss": {"value": settings.OIDC_ISSUER},
        "aud": {"value": client.client_id},
        "sub": {"essential": True},
    }
    id_token = client.parse_id_token(token, sign_in["nonce"], required)
    userinfo = client.userinfo(token={"access_token": token["access_token"]})
    subject = id_token["sub"]
    if userinfo["sub"] != subject or not subject.isascii():
        raise ValueError("The subject differs, or is not in ASCII.")
    return {**userinfo, **id_token}


@transaction.atomic
def update_account(claims: Claims) -> models.User | None:
    """Create or update the account of these claims, and return it.

    The account gets exactly the roles in the claims. Without any, no account
    is created, and the result is None.
    """
    # A provider may give the name of an operator to somebody else later, so
    # the username depends on the issuer and the subject only.
    identity = f"{claims['iss']}\0{claims['sub']}"
    username = f"sso-{sha256(identity.encode()).hexdigest()[:32]}"
    # The provider sends one role, or a list of roles.
    roles = claims.get(settings.OIDC_ROLES_CLAIM)
    if not isinstance(roles, list):
        roles = [roles]
    groups = [group for group in models.Group.objects.all() if group.name in roles]
    is_superuser = "Superusers" in roles
    has_role = is_superuser or bool(groups)
    if not has_role and not models.User.objects.filter(username=username).exists():
        return None
    values = {
        "first_name": name_of(claims),
        "email": text_of(claims, "email"),
        "is_staff": has_role,
        "is_superuser": is_superuser,
        "password": "!",  # Django's mark of an unusable password
    }
    user, _ = models.User.objects.update_or_create(username=username, defaults=values)
    user.groups.set(groups)
    return user


def name_of(claims: Claims) -> str:
    """Return the name to show, from the first of these claims that has text."""
    texts = [text_of(claims, name) for name in NAMES]
    return next(filter(None, texts), "")


def text_of(claims: Claims, name: str) -> str:
    """Return a claim as it can be stored in the account, or "" if it is not
    text.
    """
    text = claims.get(name)
    if not isinstance(text, str):
        return ""
    # the maximum length of first_name
    return UNSTORABLE.sub("", text).strip()[:150]


urlpatterns = [
    path("single-sign-on/", get_only(never_cache(start)), name="single_sign_on"),
    path(
        "single-sign-on/callback/",
        get_only(never_cache(callback)),
        name="single_sign_on_callback",
    ),
]
