"""Answers for what reaches no view: JSON for callers, Django's own pages for operators in the admin."""

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views import defaults
from rest_framework.exceptions import NotFound

from usergroups.contract.errors import BadRequest, ServerError, failure_response


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    return failure_response(BadRequest())


def page_not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    if _in_admin(request):
        return defaults.page_not_found(request, exception)
    return failure_response(NotFound())


def server_error(request: HttpRequest) -> HttpResponse:
    if _in_admin(request):
        return defaults.server_error(request)
    return failure_response(ServerError())


def _in_admin(request: HttpRequest) -> bool:
    return request.path.startswith(reverse("admin:index"))
