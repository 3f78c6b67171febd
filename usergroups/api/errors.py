"""Error responses: ``{"success": 0, "type": ..., "errors": [...]}``.

BaseAPIView passes each exception to ``exception_handler``. What responds
without such a view, such as middleware, calls ``failure_response``.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import NotRequired, TypedDict, cast

from django.contrib.auth.decorators import login_not_required
from django.core.exceptions import PermissionDenied, SuspiciousOperation
from django.core.exceptions import ValidationError as DjangoValidationError
from django.core.signals import got_request_exception
from django.db import InterfaceError, InternalError, OperationalError
from django.db.models import ProtectedError, RestrictedError
from django.http import Http404, HttpRequest, HttpResponse
from django.utils import translation
from django.utils.log import log_response
from django.utils.translation import gettext_noop as _
from django.views.decorators.csrf import csrf_exempt
from rest_framework import exceptions
from rest_framework.exceptions import AuthenticationFailed, NotAuthenticated
from rest_framework.fields import get_error_detail
from rest_framework.request import Request
from rest_framework.response import Response

from usergroups.db.bounded_reads import ResultsTooLarge
from usergroups.db.retry import ConflictingWrite

from .strict_json import CompactJSONRenderer

MAX_PROBLEMS = 100
"""The maximum number of errors in a response, so that it is never much larger
than its request.
"""


NO_STORE = {"Cache-Control": "no-store"}
"""The header of every response, since a response may contain a user group
token.
"""


DATABASE_UNAVAILABLE_ERRORS = (OperationalError, InterfaceError, InternalError)
"""Raised if the database is unreachable or overloaded, or if it is read-only
(InternalError on PostgreSQL).
"""


class Problem(TypedDict):
    code: str
    detail: str
    attr: str | None
    existing: NotRequired[str]
    """The id of the object in the way, if the error is about a duplicate."""


TOO_MANY = Problem(
    code="too_many_errors",
    detail=_("There are more errors than the ones listed."),
    attr=None,
)


Detail = str | Mapping[str, Sequence[str]] | Sequence[str] | None
"""The argument of an APIException, or None for its default."""


class Failure(TypedDict):
    """The body of an error response."""

    success: int
    type: str
    errors: list[Problem]


class BadRequest(exceptions.APIException):
    """A request that Django refuses, for example because of its Host header."""

    status_code = 400
    default_code = "bad_request"
    default_detail = (
        "The request is malformed, for example because of an invalid Host header."
    )


class MissingField(exceptions.ValidationError):
    """A required field of the request is missing."""

    def __init__(self, field: str) -> None:
        super().__init__({field: ["This field is required."]}, "required")


class ServerError(exceptions.APIException):
    default_code = "internal_error"
    default_detail = "An internal error occurred and was logged."


class DatabaseUnavailable(exceptions.APIException):
    """One of the DATABASE_UNAVAILABLE_ERRORS."""

    status_code = 503
    default_code = "service_unavailable"
    default_detail = "The database is temporarily unavailable. Try again later."
    wait = 5  # seconds, for the header Retry-After


class Explanation(exceptions.APIException):
    """An error that is made of the exception that it explains."""

    def __init__(self, cause: Exception, detail: Detail = None) -> None:
        super().__init__(detail)


class Protected(exceptions.APIException):
    """Rows of the host project refer to an object that the call would delete,
    with PROTECT, RESTRICT or DO_NOTHING.
    """

    status_code = 409
    default_code = "protected"
    default_detail = "Other objects refer to this one, so it cannot be deleted."


class BatchTooLarge(exceptions.APIException):
    """The results of a batch would be too large."""

    status_code = 413
    default_code = "payload_too_large"
    default_detail = (
        "The objects of this batch have more than 32 MiB of text and JSON. Send fewer "
        "items at once."
    )


class InvalidValues(Explanation, exceptions.ValidationError):
    """A model refuses a value, for example by a validator of the host."""

    def __init__(self, cause: DjangoValidationError) -> None:
        super().__init__(cause, get_error_detail(cause))


Answers = Mapping[type[Exception], type[exceptions.APIException]]
"""The errors with which calls answer exceptions, by the class of the exception
or by one of its base classes.
"""


COMMON_ANSWERS: Answers = {
    Http404: exceptions.NotFound,
    PermissionDenied: exceptions.PermissionDenied,
    SuspiciousOperation: BadRequest,
    DjangoValidationError: InvalidValues,
    ProtectedError: Protected,
    RestrictedError: Protected,
    ResultsTooLarge: BatchTooLarge,
    # Each of four attempts lost against a deletion.
    ConflictingWrite: DatabaseUnavailable,
    **dict.fromkeys(DATABASE_UNAVAILABLE_ERRORS, DatabaseUnavailable),
}
"""The answers of all views. The attribute ``errors`` of a view adds others."""


def find_answer(error: Exception, answers: Answers) -> Exception:
    """Return the error with which a call answers an exception, or the same
    exception if there is none.

    The answer to its class comes before that to a base class.
    """
    answer = next(filter(None, map(answers.get, type(error).__mro__)), None)
    if answer is None:
        return error
    explained = answer(error) if issubclass(answer, Explanation) else answer()
    # so that the log has both
    explained.__cause__ = error
    return explained


def exception_handler(exception: Exception, context: Mapping[str, Request]) -> Response:
    """Return an error response for an exception that a view has explained, and
    log server errors.

    Unlike DRF's handler, this does not roll back the transaction of
    ATOMIC_REQUESTS, because these views have none.
    """
    error = exception
    if not isinstance(error, exceptions.APIException):
        error = ServerError()
    response = Response(failure(error), error.status_code, headers=_headers(error))
    if response.status_code >= 500:
        # The log names the error of the database, for example.
        cause = cast(Exception, error.__cause__ or exception)
        # Django's request, which has no public name in DRF
        request = context["request"]._request
        # Error trackers such as Sentry's receive this signal.
        got_request_exception.send(sender=None, request=request)
        log_response(
            "%s: %s",
            response.status_text,
            request.path,
            response=response,
            request=request,
            exception=cause,
        )
    return response


def failure_response(exception: exceptions.APIException) -> HttpResponse:
    """Return an error response from outside the API views."""
    body = CompactJSONRenderer().render(failure(exception))
    headers = {**NO_STORE, **_headers(exception)}
    return HttpResponse(
        body, CompactJSONRenderer.media_type, exception.status_code, headers=headers
    )


@csrf_exempt
@login_not_required
def unknown_path(request: HttpRequest, *args: object, **kwargs: object) -> HttpResponse:
    """Respond with 404 to any request.

    This is a view for any URL pattern, and a ``handler404``.
    """
    # Without a language, DRF's detail is in English.
    with translation.override(None):
        return failure_response(exceptions.NotFound())


def failure(
    exception: exceptions.APIException, max_problems: int = MAX_PROBLEMS
) -> Failure:
    """Return the body of the error response to ``exception``.

    It has at most ``max_problems`` errors. If there are more, the last one has
    the code ``too_many_errors``.
    """
    all_problems = _problems(exception.detail, exception.default_code)
    # One more than the maximum shows that there are too many.
    problems = list(islice(all_problems, max_problems + 1))
    if len(problems) > max_problems:
        problems[max_problems - 1 :] = [TOO_MANY]
    # An error about a duplicate has the id of the existing object.
    existing = getattr(exception, "existing", None)
    if existing:
        problems[0]["existing"] = existing
    return {"success": 0, "type": _type_of(exception), "errors": problems}


def _type_of(exception: exceptions.APIException) -> str:
    if isinstance(exception, exceptions.ValidationError):
        return "validation_error"
    if exception.status_code < 500:
        return "client_error"
    return "server_error"


def _headers(exception: exceptions.APIException) -> dict[str, str]:
    headers = {}
    challenge = getattr(exception, "auth_header", None)
    if challenge:
        headers["WWW-Authenticate"] = challenge
    # That of a single request about a duplicate also has its URL.
    location = getattr(exception, "location", None)
    if location:
        headers["Location"] = location
    if hasattr(exception, "wait"):
        # That of a host's throttle may be None, zero or negative.
        headers["Retry-After"] = str(max(1, exception.wait or 1))
    return headers


def _problems(
    detail: object, default_code: str, path: tuple[str, ...] = ()
) -> Iterator[Problem]:
    """Yield the errors in the ``detail`` of a DRF exception, which may be
    nested.

    ``path`` has the names of the fields that lead to it.
    """
    if isinstance(detail, dict):
        for key, value in detail.items():
            yield from _problems(value, default_code, (*path, str(key)))
    elif isinstance(detail, list):
        for item in detail:
            yield from _problems(item, default_code, path)
    else:
        code = str(getattr(detail, "code", default_code))
        # A key of the request may contain a lone surrogate, which UTF-8 cannot
        # encode.
        attr = ".".join(path).encode(errors="backslashreplace").decode()
        # The name of an unknown field may be empty.
        yield {"code": code, "detail": str(detail), "attr": attr if path else None}


class InvalidToken(AuthenticationFailed):
    default_detail = "The token is unknown, expired or revoked."


class WrongTokenKind(InvalidToken):
    default_code = "wrong_token_kind"


class WrongScheme(NotAuthenticated):
    default_code = "wrong_scheme"
