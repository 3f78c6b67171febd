"""The parts of the OpenAPI document that all operations share."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from drf_spectacular.openapi import AutoSchema
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import (
    OpenApiExample,
    OpenApiParameter,
    OpenApiRequest,
    OpenApiResponse,
    extend_schema,
    extend_schema_field,
)
from rest_framework import serializers
from rest_framework.exceptions import (
    APIException,
    AuthenticationFailed,
    ErrorDetail,
    NotAuthenticated,
    ParseError,
    PermissionDenied,
    Throttled,
    UnsupportedMediaType,
    ValidationError,
)

from .body import PayloadTooLarge
from .conf import DEFAULT_MAX_BODY_SIZE
from .errors import DatabaseUnavailable, ServerError, failure
from .etags import PreconditionFailed

F = TypeVar("F", bound=Callable[..., Any])

DESCRIPTIONS = {
    400: "The body is not a JSON object, or a field is missing or invalid.",
    401: "The request has no valid token of the required scheme.",
    403: "The token is read-only.",
    404: "The object does not exist, or belongs to another owner.",
    409: "The change would create a duplicate.",
    412: "The ETag of the object does not match If-Match.",
    413: "The body exceeds the size limit.",
    415: "The Content-Type is not application/json.",
    429: "Too many requests with this token, or too many failed authentications from this address.",
    500: "Internal error.",
    503: "The database is unreachable, overloaded or read-only.",
}

FAILURES: list[APIException] = [
    NotAuthenticated(),
    AuthenticationFailed("The token is unknown, expired or revoked."),
    Throttled(17),
    ServerError(),
    DatabaseUnavailable(),
]
FAILURES_OF_WRITING: list[APIException] = [PermissionDenied("The token is read-only.", code="insufficient_scope")]
LIMIT_WRONG = ValidationError({"limit": [ErrorDetail("A valid integer is required.", "invalid")]})
QUERY_UNREADABLE = ParseError("The query string is not UTF-8 or has too many parameters.")
FAILURES_OF_BODIES: list[APIException] = [
    ParseError("The body is not a JSON object."),
    PayloadTooLarge(DEFAULT_MAX_BODY_SIZE),
    UnsupportedMediaType("text/plain"),
]


IF_MATCH = OpenApiParameter(
    "If-Match", str, "header", description="An ETag. If the object has changed since, the request is refused with 412."
)


def _header(name: str, kind: Any, statuses: list[int] | bool, description: str) -> OpenApiParameter:
    """Document a header of the responses with these statuses, or of all responses if ``statuses`` is True."""
    return OpenApiParameter(name, kind, "header", response=statuses, description=description)


ETAG = _header("ETag", OpenApiTypes.STR, [200, 201], "Changes with every change of the object.")
RESPONSE_HEADERS = [
    _header("Cache-Control", OpenApiTypes.STR, True, "Always `no-store`."),
    _header("Location", OpenApiTypes.URI_REF, [201], "The address of the new object."),
    _header("WWW-Authenticate", OpenApiTypes.STR, [401], "The required scheme."),
    _header("Retry-After", OpenApiTypes.INT, [429, 503], "Seconds."),
    _header("RateLimit", OpenApiTypes.STR, [200, 201, 429], "Remaining calls, and seconds until the window ends."),
    _header("RateLimit-Policy", OpenApiTypes.STR, [200, 201, 429], "Calls allowed in a window, and its seconds."),
]


@extend_schema_field({"type": "integer", "minimum": 0, "maximum": 0})
class FailedField(serializers.IntegerField):
    """The integer 0."""


class ProblemSerializer(serializers.Serializer[Any]):
    code = serializers.CharField(help_text="A stable code for programs.")
    detail = serializers.CharField(help_text="An explanation for people; its wording may change.")
    attr = serializers.CharField(
        allow_null=True, help_text="The dotted path of the invalid field, or null if no single field is invalid."
    )


class FailureSerializer(serializers.Serializer[Any]):
    success = FailedField()
    type = serializers.ChoiceField(choices=["validation_error", "client_error", "server_error"])
    errors = ProblemSerializer(many=True)  # type: ignore[assignment]  # Serializer.errors is for input


class FailedResultSerializer(FailureSerializer):
    """The result of an invalid item of a batch."""

    status = serializers.IntegerField(help_text="The status of the equivalent single request.")


class ContractSchema(AutoSchema):
    """Marks every request body as required, even if all of its fields are optional."""

    def get_operation(self, *args: Any, **kwargs: Any) -> Any:
        described = super().get_operation(*args, **kwargs)
        if described and "requestBody" in described:
            described["requestBody"]["required"] = True
        return described


def answer(envelope: type[serializers.Serializer[Any]], description: str, **example: Any) -> OpenApiResponse:
    """Document a successful response, with an example of the envelope's fields."""
    return OpenApiResponse(envelope, description, [OpenApiExample("Success", {"success": 1, **example})])


def operation(
    *,
    answers: dict[int, OpenApiResponse],
    body: tuple[type[serializers.Serializer[Any]], dict[str, Any]] | None = None,
    query: type[serializers.Serializer[Any]] | None = None,
    path: OpenApiParameter | None = None,
    failures: Sequence[APIException] = (),
    read_only: bool = False,
    tagged: bool = False,
    conditional: bool = False,
    **description: Any,
) -> Callable[[F], F]:
    """Document a method of a view, including the errors that every operation of its kind can return.

    ``body`` is the serializer of the request's body and an example; ``failures`` are further errors. The responses of
    a ``tagged`` operation have an ETag, and a ``conditional`` operation honours If-Match. This extends
    ``extend_schema`` and ignores the host's DEFAULT_SCHEMA_CLASS.
    """
    all_failures = [*FAILURES, *failures]
    headers = [*([IF_MATCH] if conditional else []), *([ETAG] if tagged else []), *RESPONSE_HEADERS]
    if conditional:
        all_failures.append(PreconditionFailed())
    if not read_only:
        all_failures += FAILURES_OF_WRITING
    if query:
        all_failures.append(QUERY_UNREADABLE)
    if body:
        all_failures += FAILURES_OF_BODIES
        description["request"] = OpenApiRequest(body[0], examples=[OpenApiExample("Request", body[1])])
    document = extend_schema(
        parameters=[parameter for parameter in (path, query, *headers) if parameter],
        responses={**answers, **_failure_responses(all_failures)},
        **{"request": None, **description},
    )

    def decorate(method: F) -> F:
        method.kwargs = {"schema": ContractSchema}  # type: ignore[attr-defined]  # extend_schema looks here first
        return document(method)

    return decorate


def _failure_responses(exceptions: Iterable[APIException]) -> dict[int, OpenApiResponse]:
    examples: defaultdict[int, list[OpenApiExample]] = defaultdict(list)
    for exception in exceptions:
        body = failure(exception)
        problem = body["errors"][0]
        name = f"{problem['code']} at {problem['attr']}" if problem["attr"] else problem["code"]
        examples[exception.status_code].append(OpenApiExample(name, body))
    return {
        status: OpenApiResponse(FailureSerializer, DESCRIPTIONS[status], examples[status])
        for status in sorted(examples)
    }
