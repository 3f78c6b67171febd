"""Middleware that only pages need. It passes all other requests on, since API clients have no sessions or forms."""

import re
from collections.abc import Callable
from typing import Any

from axes import middleware as axes
from csp import middleware as csp
from django.conf import settings
from django.contrib.auth import middleware as auth
from django.contrib.messages import middleware as messages
from django.contrib.sessions import middleware as sessions
from django.http import HttpRequest, HttpResponse
from django.middleware import csrf, locale
from django.utils import translation
from django.utils.deprecation import MiddlewareMixin

from usergroups.contract.body import may_exceed

from .handlers import error_page, in_admin

MAX_ANONYMOUS_BODY = 64 * 1024  # bytes

is_page_path = re.compile(rf"/(?:$|(?:{settings.PAGES})(?:/|$))").match


class PagesOnly:
    """Middleware that passes requests on if their path is not that of a page. Use it as the first base class."""

    def __init__(self, get_response: Callable[[HttpRequest], Any]) -> None:
        super().__init__(get_response)  # type: ignore[call-arg]  # The next base class is middleware.
        # Django wraps each middleware in a function that has its attributes. Skip all middleware of this kind in a row.
        self.skip_to = getattr(get_response, "skip_to", get_response)

    def __call__(self, request: HttpRequest) -> Any:
        if is_page_path(request.path_info):
            return super().__call__(request)  # type: ignore[misc]
        return self.skip_to(request)


class CSPMiddleware(PagesOnly, csp.CSPMiddleware):
    pass


class LocaleMiddleware(PagesOnly, locale.LocaleMiddleware):
    """Shows pages in the language that the browser asks for."""

    def __call__(self, request: HttpRequest) -> Any:
        # Django's middleware leaves the language active, and the thread may serve an API request next.
        with translation.override(settings.LANGUAGE_CODE):
            return super().__call__(request)


class SessionMiddleware(PagesOnly, sessions.SessionMiddleware):
    pass


class CsrfViewMiddleware(PagesOnly, csrf.CsrfViewMiddleware):
    pass


class AuthenticationMiddleware(PagesOnly, auth.AuthenticationMiddleware):
    pass


class MessageMiddleware(PagesOnly, messages.MessageMiddleware):
    pass


class AxesMiddleware(PagesOnly, axes.AxesMiddleware):  # type: ignore[misc]  # django-axes has no types
    pass


class UploadLimitMiddleware(PagesOnly, MiddlewareMixin):
    """Refuses large bodies for the admin before they are read, unless an operator is logged in.

    Django's CSRF check parses the form and stores its files before permissions are checked.
    """

    def process_request(self, request: HttpRequest) -> HttpResponse | None:
        is_large = in_admin(request) and may_exceed(request, MAX_ANONYMOUS_BODY)
        return error_page(413) if is_large and not request.user.is_staff else None
