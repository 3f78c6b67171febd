"""Error responses outside the API views: HTML on pages, and JSON everywhere
else.
"""

import sys
from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.template.loader import render_to_string
from django.utils import translation
from django.views.decorators.csrf import csrf_exempt
from rest_framework.exceptions import MethodNotAllowed, PermissionDenied

from usergroups.api import errors

ADMIN_PREFIX = "admin/"
"""The prefix of the admin's URLs, for the URLconf and for ``is_page``."""

View = Callable[..., HttpResponseBase]


def get_only(view: View) -> View:
    """Decorate a view that only serves GET and HEAD.

    Other methods get a 405 response in JSON.
    """

    # so that other methods get the 405, not Django's HTML page about CSRF
    @csrf_exempt
    def wrapper(
        request: HttpRequest, *args: object, **kwargs: object
    ) -> HttpResponseBase:
        if request.method in ("GET", "HEAD"):
            return view(request, *args, **kwargs)
        with translation.override(None):  # DRF's detail in English
            response = errors.failure_response(MethodNotAllowed(str(request.method)))
        response["Allow"] = "GET, HEAD"
        return response

    return wrapper


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Respond to a malformed request, such as one with an invalid Host header."""
    if is_page(request):
        return error_page(400)
    return errors.failure_response(errors.BadRequest())


def permission_denied(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Respond to an operator without the necessary permission."""
    if is_page(request):
        return error_page(403)
    with translation.override(None):  # DRF's detail in English
        return errors.failure_response(PermissionDenied())


def page_not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Respond to a path that no URL pattern matches, or to the admin page of
    an object that does not exist.
    """
    if is_page(request):
        return error_page(404)
    return errors.unknown_path(request)


def server_error(request: HttpRequest) -> HttpResponse:
    """Respond to an unhandled exception.

    There is a separate page for an unavailable database.
    """
    if not is_page(request):
        return errors.failure_response(errors.ServerError())
    if isinstance(sys.exc_info()[1], errors.DATABASE_UNAVAILABLE_ERRORS):
        response = error_page(503)
        response["Retry-After"] = str(errors.DatabaseUnavailable.wait)
        return response
    return error_page(500)


def error_page(status: int) -> HttpResponse:
    """Return the page with this status.

    It is rendered without the request, so that it needs no session or
    database.
    """
    text = render_to_string(f"{status}.html")
    return HttpResponse(text, status=status, headers=errors.NO_STORE)


def is_page(request: HttpRequest) -> bool:
    """Return whether people read errors at this path, in HTML.

    Unknown paths outside the admin belong to the API.
    """
    path = request.path_info
    return path in ("/", "/docs/") or path.startswith(f"/{ADMIN_PREFIX}")
