"""What a failed call is answered with: ``{"success": 0, "type": ..., "errors": [...]}``."""

from collections.abc import Iterator
from itertools import islice
from typing import Any, TypedDict

from django.core.exceptions import PermissionDenied, SuspiciousOperation
from django.core.signals import got_request_exception
from django.db import InterfaceError, InternalError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse
from django.utils.log import log_response
from rest_framework import exceptions
from rest_framework.response import Response

from .negotiation import CompactJSONRenderer

MAX_PROBLEMS = 100
"""How many errors an answer lists, so that it never grows much larger than its request."""

NO_STORE = {"Cache-Control": "no-store"}
"""The header of every answer: it may carry a user group token or the secret of a new token."""


class Problem(TypedDict):
    code: str
    detail: str
    attr: str | None


TOO_MANY = Problem(code="too_many_errors", detail="There are more errors than are listed here.", attr=None)


class Failure(TypedDict):
    success: int
    type: str
    errors: list[Problem]


class BadRequest(exceptions.APIException):
    status_code = 400
    default_code = "bad_request"
    default_detail = "The request as a whole is not acceptable; look at its Host header first."


class ServerError(exceptions.APIException):
    default_code = "internal_error"
    default_detail = "Something went wrong on the server. The fault was logged."


class DatabaseUnavailable(exceptions.APIException):
    status_code = 503
    default_code = "service_unavailable"
    default_detail = "The database cannot do this now. Try again later."
    wait = 5  # seconds


def exception_handler(exception: Exception, context: dict[str, Any]) -> Response:
    """Answer any exception of a view, so that neither the host's handler nor Django's pages ever do.

    DRF's own handler is not called, because all that it would add is a rollback of ATOMIC_REQUESTS' transaction.
    The views take no part in that, so the only one left to spoil is that of a test around the call.
    """
    answer = _api_exception(exception)
    response = Response(failure(answer), answer.status_code, headers=_headers(answer))
    if response.status_code >= 500:
        request: HttpRequest = context["request"]._request
        got_request_exception.send(sender=None, request=request)
        log_response(
            "%s: %s", response.status_text, request.path, response=response, request=request, exception=exception
        )
    return response


def failure_response(exception: exceptions.APIException) -> HttpResponse:
    """Answer in the contract's shape where no view of the contract is reached."""
    body = CompactJSONRenderer().render(failure(exception))
    headers = {**NO_STORE, **_headers(exception)}
    return HttpResponse(body, CompactJSONRenderer.media_type, exception.status_code, headers=headers)


def unknown_path(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """A view, and a ``handler404``, for paths under a base address that nothing is at."""
    return failure_response(exceptions.NotFound())


def failure(exception: exceptions.APIException, max_problems: int = MAX_PROBLEMS) -> Failure:
    """Return the body of an answer that reports ``exception``.

    It lists at most ``max_problems`` errors; if there are more, the last one listed has the code ``too_many_errors``.
    """
    if isinstance(exception, exceptions.ValidationError):
        kind = "validation_error"
    elif exception.status_code < 500:
        kind = "client_error"
    else:
        kind = "server_error"
    problems = list(islice(_problems(exception.detail), max_problems + 1))
    if len(problems) > max_problems:
        problems[max_problems - 1 :] = [TOO_MANY]
    return {"success": 0, "type": kind, "errors": problems}


def _headers(exception: exceptions.APIException) -> dict[str, str]:
    headers = {}
    if challenge := getattr(exception, "auth_header", None):
        headers["WWW-Authenticate"] = challenge
    if wait := getattr(exception, "wait", None):
        headers["Retry-After"] = str(wait)
    return headers


def _api_exception(exception: Exception) -> exceptions.APIException:
    match exception:
        case exceptions.APIException():
            return exception
        case Http404():
            return exceptions.NotFound()
        case PermissionDenied():
            return exceptions.PermissionDenied()
        case SuspiciousOperation():
            return BadRequest()
        case OperationalError() | InterfaceError() | InternalError():
            return DatabaseUnavailable()
        case _:
            return ServerError()


def _problems(detail: Any, path: tuple[str, ...] = ()) -> Iterator[Problem]:
    if isinstance(detail, dict):
        for key, value in detail.items():
            yield from _problems(value, (*path, str(key)))
    elif isinstance(detail, list):
        for item in detail:
            yield from _problems(item, path)
    else:
        yield {"code": detail.code, "detail": str(detail), "attr": ".".join(path) or None}
