"""Answers for what reaches no operation: JSON for callers, pages for people."""

import sys
from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.template.loader import render_to_string
from django.urls import reverse
from django.views import defaults
from django.views.decorators.csrf import csrf_exempt
from rest_framework.exceptions import MethodNotAllowed, NotFound

from usergroups.contract.errors import DATABASE_UNAVAILABLE_ERRORS, BadRequest, ServerError, failure_response

View = Callable[..., HttpResponseBase]


def page(view: View) -> View:
    """A view that people read; what is no reading is a program's, and answered as such."""

    @csrf_exempt  # nothing is written, and the answer to a program is not to be Django's page
    def read(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if request.method in ("GET", "HEAD"):
            return view(request, *args, **kwargs)
        response = failure_response(MethodNotAllowed(str(request.method)))
        response["Allow"] = "GET, HEAD"
        return response

    return read


def refuse_plain_http(get_response: View) -> View:
    """Middleware behind Django's, which has sent those to https by now whom SECURE_REDIRECT_EXEMPT does not name."""

    def middleware(request: HttpRequest) -> HttpResponseBase:
        if settings.SECURE_SSL_REDIRECT and not request.is_secure():
            return failure_response(BadRequest("Use https. A token that was sent without it should be revoked."))
        return get_response(request)

    return middleware


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    if _in_admin(request):
        return defaults.bad_request(request, exception)
    return failure_response(BadRequest())


def page_not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    if _in_admin(request):
        return defaults.page_not_found(request, exception)
    return failure_response(NotFound())


def server_error(request: HttpRequest) -> HttpResponse:
    if not _in_admin(request):
        return failure_response(ServerError())
    if isinstance(sys.exc_info()[1], DATABASE_UNAVAILABLE_ERRORS):
        return HttpResponse(render_to_string("503.html"), status=503, headers={"Retry-After": "5"})  # seconds
    return defaults.server_error(request)


def _in_admin(request: HttpRequest) -> bool:
    return request.path.startswith(reverse("admin:index"))
