"""The views that start and finish a sign-in at the identity provider."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import wraps
from threading import BoundedSemaphore

from django.contrib import auth
from django.contrib.sessions.backends.base import UpdateError
from django.core.exceptions import SuspiciousOperation
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from mozilla_django_oidc.views import OIDCAuthenticationRequestView

from bookmarks_service.handlers import page

from .accounts import update_account
from .failures import ProviderFailure, SignInFailure, TooManySignIns, UnknownSignIn
from .provider import FAILURES, IdentityProvider, protocol_setting

logger = logging.getLogger(__name__)

SESSION_LIFETIME = timedelta(hours=8)
"""After this time the provider is asked again who the operator is and which roles they have."""

TIME_TO_SIGN_IN = 600  # seconds at the provider

BACKEND = "bookmarks_service.single_sign_on.backend.SingleSignOnBackend"

WAITING = BoundedSemaphore(4)
"""How many threads of a process may wait for the provider. The others are left for the API."""

View = Callable[[HttpRequest], HttpResponse]


@contextmanager
def calls_to_provider() -> Iterator[None]:
    """Report that the provider cannot be used, for whatever reason, as a ProviderFailure.

    The log names only the kind of error, because its message may quote what the provider sent.
    """
    if not WAITING.acquire(blocking=False):
        raise TooManySignIns
    try:
        yield
    except (*FAILURES, SuspiciousOperation) as error:
        status = getattr(getattr(error, "response", None), "status_code", "")
        logger.warning("Single sign-on failed: %s %s", type(error).__name__, status)
        raise ProviderFailure from None
    finally:
        WAITING.release()


def sign_in_page(view: View) -> View:
    """Decorate a view so that its failures are pages."""

    @page
    @never_cache
    @wraps(view)
    def wrapper(request: HttpRequest) -> HttpResponse:
        try:
            return view(request)
        except SignInFailure as failure:
            context = {"title": _("Sign-in failed"), "message": failure.message}
            return render(request, "admin/sign_in_failed.html", context, status=failure.status)

    return wrapper  # type: ignore[return-value]


class SignInRequest(OIDCAuthenticationRequestView):
    get_settings = staticmethod(protocol_setting)


lead_to_provider: View = SignInRequest.as_view()


@sign_in_page
def start(request: HttpRequest) -> HttpResponse:
    """Redirect to the identity provider. The session keeps a state, a nonce and the verifier of PKCE meanwhile."""
    with calls_to_provider():
        response = lead_to_provider(request)
    if not request.user.is_authenticated:
        request.session.set_expiry(TIME_TO_SIGN_IN)
    return response


@sign_in_page
def callback(request: HttpRequest) -> HttpResponse:
    """Log in the operator whom the identity provider has sent back."""
    pending = request.session.get("oidc_states", {}).pop(request.GET.get("state"), None)
    if pending is None:
        raise UnknownSignIn
    try:
        request.session.save()  # A state is valid once, even if the sign-in fails.
    except UpdateError:  # Another request has ended the session.
        raise UnknownSignIn from None
    if not request.GET.get("code"):  # but an error, such as access_denied
        raise SignInFailure
    with calls_to_provider():
        claims = IdentityProvider().claims(request, pending)
    user = update_account(claims)
    next_page = request.session.pop("oidc_login_next", None)
    auth.login(request, user, BACKEND)
    request.session.set_expiry(timezone.now() + SESSION_LIFETIME)
    return HttpResponseRedirect(next_page) if next_page else redirect("admin:index")
