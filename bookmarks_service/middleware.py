"""The service's own middleware: health checks for load balancers, and what
only pages or only proxies need.
"""

import logging
import re
from collections.abc import Callable
from functools import cache
from typing import Any

from axes import middleware as axes
from csp import middleware as csp
from django.conf import settings
from django.contrib.auth import middleware as auth
from django.contrib.messages import middleware as messages
from django.contrib.sessions import middleware as sessions
from django.core.exceptions import MiddlewareNotUsed
from django.db import Error, connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.middleware import csrf, locale
from django.utils import translation
from django.utils.deprecation import MiddlewareMixin

from bookmarks.conf import max_import_size
from usergroups.api.bodies import CHUNK_SIZE
from usergroups.api.client_addresses import address_of
from usergroups.api.errors import NO_STORE, DatabaseUnavailable, failure_response

from .handlers import View, error_page, page
from .json_log import first_line

logger = logging.getLogger(__name__)

is_page_path = re.compile(rf"/(?:$|(?:{settings.PAGES})(?:/|$))").match


class PagesOnly:
    """A mixin that skips a middleware for requests that are not for a page.

    Make it the first base class.
    """

    def __init__(self, get_response: Callable[[HttpRequest], Any]) -> None:
        # The next base class is middleware.
        super().__init__(get_response)  # type: ignore[call-arg]
        # The next middleware that is not a PagesOnly. Django wraps each
        # middleware, and the wrapper has its attributes.
        self.skip_to = getattr(get_response, "skip_to", get_response)

    def __call__(self, request: HttpRequest) -> Any:
        if is_page_path(request.path_info):
            return super().__call__(request)  # type: ignore[misc]
        return self.skip_to(request)


class LocaleMiddleware(PagesOnly, locale.LocaleMiddleware):
    """Shows pages in the language that the browser asks for."""

    def __call__(self, request: HttpRequest) -> Any:
        # Django's middleware leaves the language active, and the thread may
        # serve an API request next.
        with translation.override(settings.LANGUAGE_CODE):
            return super().__call__(request)


def pages_only(middleware: type[Any]) -> type[Any]:
    """Return a subclass of the middleware that is a PagesOnly."""
    return type(middleware.__name__, (PagesOnly, middleware), {})


CSPMiddleware = pages_only(csp.CSPMiddleware)
SessionMiddleware = pages_only(sessions.SessionMiddleware)
CsrfViewMiddleware = pages_only(csrf.CsrfViewMiddleware)
AuthenticationMiddleware = pages_only(auth.AuthenticationMiddleware)
MessageMiddleware = pages_only(messages.MessageMiddleware)
AxesMiddleware = pages_only(axes.AxesMiddleware)


KIB = 1024
MAX_ANONYMOUS_FORM = 64 * KIB  # bytes, as of all sizes below
MAX_FORM = 2560 * KIB
IMPORT_PAGE = "bookmarks_bookmark_import"
JSON_PAGES = ("usergroups_usergroup_add", "usergroups_usergroup_change")


class FormSizeMiddleware(PagesOnly, MiddlewareMixin):
    """
    Refuse a form that is too large before Django reads and decodes it.

    Django has one limit for all forms, DATA_UPLOAD_MAX_MEMORY_SIZE, which must
    allow for the JSON of a user group. Decoding as much can take seconds and
    over a gigabyte of memory. Django reads nothing of a body without a
    Content-Length.
    """

    def process_view(
        self, request: HttpRequest, view: View, args: Any, kwargs: Any
    ) -> HttpResponse | None:
        """Respond with 413 if the form is too large for its page and its user."""
        match = request.resolver_match
        if match is None or match.app_name != "admin":
            return None
        try:
            size = int(request.META.get("CONTENT_LENGTH") or 0)
        except ValueError:
            return None  # Django treats the body as empty.
        if size > MAX_ANONYMOUS_FORM and size > max_form_size(request, match.url_name):
            return error_page(413)
        return None


def max_form_size(request: HttpRequest, url_name: str | None) -> int:
    """Return the maximum size of a form in bytes."""
    if not request.user.is_authenticated:
        return MAX_ANONYMOUS_FORM
    if url_name == IMPORT_PAGE:
        # The form reports a file that is a bit too large.
        return max_import_size() + KIB * KIB
    if url_name in JSON_PAGES:
        return settings.DATA_UPLOAD_MAX_MEMORY_SIZE
    return MAX_FORM


def client_address(request: Any) -> str:
    """Return the address to store with a failed login, by which django-axes
    limits failed logins.

    All clients with an unknown address share one. With NULL, django-axes would
    raise an error for concurrent failures, because its unique constraint
    treats NULLs as different.
    """
    return address_of(request) or "0.0.0.0"  # noqa: S104


def read_to_the_end(get_response: View) -> View:
    """Read the rest of the body before an error response, if there is a proxy.

    Otherwise the server would close the connection, and a proxy that is still
    sending would respond with 502. A proxy sends the rest at once. Without a
    proxy, slow clients without a token could occupy threads.
    """
    if not settings.USERGROUPS_TRUSTED_PROXIES:
        raise MiddlewareNotUsed

    def middleware(request: HttpRequest) -> HttpResponseBase:
        response = get_response(request)
        # Without ``wsgi.input_terminated``, as in Django's development server,
        # reading would wait forever.
        if response.status_code >= 400 and request.META.get("wsgi.input_terminated"):
            while request.META["wsgi.input"].read(CHUNK_SIZE):
                pass
        return response

    return middleware


# Health checks: /livez (the process runs) and /readyz (it can serve requests)


def health(get_response: View) -> View:
    """Respond to health checks before the middleware that require HTTPS or a
    known host, which probes do not use.
    """

    def middleware(request: HttpRequest) -> Any:
        return {"/livez": alive, "/readyz": ready}.get(request.path, get_response)(
            request
        )

    return middleware


@page
def alive(request: HttpRequest) -> HttpResponse:
    """Respond with 200 whenever the process can serve requests at all."""
    return JsonResponse({"success": 1}, headers=NO_STORE)


@page
def ready(request: HttpRequest) -> HttpResponse:
    """Respond with 503 if the database is unavailable or a migration is not
    applied.

    The log says why.
    """
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
        require_migrations()
    except UnappliedMigrations as error:
        logger.error("Not ready: %s", error)  # no traceback
        return failure_response(DatabaseUnavailable(str(error)))
    except Error as error:
        logger.error("Not ready: %s", first_line(error))
        return failure_response(DatabaseUnavailable())
    return JsonResponse({"success": 1}, headers=NO_STORE)


class UnappliedMigrations(Exception):
    """The database lacks migrations of the installed code."""


@cache
def require_migrations() -> None:
    """Raise UnappliedMigrations if there are any. A success is cached."""
    executor = MigrationExecutor(connection)
    if executor.migration_plan(executor.loader.graph.leaf_nodes()):
        raise UnappliedMigrations("Some migrations are not applied.")
