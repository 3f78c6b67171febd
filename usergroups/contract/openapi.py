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

F = TypeVar("F", bound=Callable[..., Any])

DESCRIPTIONS = {
    400: "The body is not JSON, not an object, or a field is missing or wrong.",
    401: "There is no valid token of the scheme that the operation asks for.",
    403: "The token is read-only.",
    404: "There is no such thing for this caller.",
    409: "The change would make a duplicate.",
    413: "The body is larger than the limit.",
    415: "The body is not declared as application/json.",
    429: "The token was used, or bad tokens came from the address, more often than is allowed.",
    500: "A fault of the server.",
    503: "The database cannot do this now: out of reach, busy or read-only.",
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
QUERY_UNREADABLE = ParseError("The query string is not UTF-8, or too long.")
FAILURES_OF_BODIES: list[APIException] = [
    ParseError("The body is not a JSON object."),
    PayloadTooLarge(DEFAULT_MAX_BODY_SIZE),
    UnsupportedMediaType("text/plain"),
]


def _header(name: str, kind: Any, statuses: list[int] | bool, description: str) -> OpenApiParameter:
    """Document a header of the answers with these statuses, or if True, of all."""
    return OpenApiParameter(name, kind, "header", response=statuses, description=description)


RESPONSE_HEADERS = [
    _header("Cache-Control", OpenApiTypes.STR, True, "Always `no-store`."),
    _header("Location", OpenApiTypes.URI_REF, [201], "Where the new thing can be read."),
    _header("WWW-Authenticate", OpenApiTypes.STR, [401], "The scheme that is asked for."),
    _header("Retry-After", OpenApiTypes.INT, [429, 503], "Seconds."),
    _header("RateLimit", OpenApiTypes.STR, [200, 201, 429], "Calls that are left, and seconds until there are more."),
    _header("RateLimit-Policy", OpenApiTypes.STR, [200, 201, 429], "Calls that are allowed, and in how many seconds."),
]


@extend_schema_field({"type": "integer", "minimum": 0, "maximum": 0})
class FailedField(serializers.IntegerField):
    """The integer 0."""


class ProblemSerializer(serializers.Serializer[Any]):
    code = serializers.CharField(help_text="Stable, for programs.")
    detail = serializers.CharField(help_text="For people; its wording may change.")
    attr = serializers.CharField(
        allow_null=True, help_text="The field at fault as a dotted path; null: the request as a whole."
    )


class FailureSerializer(serializers.Serializer[Any]):
    success = FailedField()
    type = serializers.ChoiceField(choices=["validation_error", "client_error", "server_error"])
    errors = ProblemSerializer(many=True)  # type: ignore[assignment]  # Serializer.errors is for input


class FailedResultSerializer(FailureSerializer):
    """What became of an item of a batch that was refused."""

    status = serializers.IntegerField(help_text="The status that the item would have had as a call of its own.")


class ContractSchema(AutoSchema):
    def get_operation(self, *args: Any, **kwargs: Any) -> Any:
        described = super().get_operation(*args, **kwargs)
        if described and "requestBody" in described:
            described["requestBody"]["required"] = True  # even where all of its fields may be left out
        return described


def answer(envelope: type[serializers.Serializer[Any]], description: str, **example: Any) -> OpenApiResponse:
    """What an operation that succeeds answers, with an example of what is in the envelope."""
    return OpenApiResponse(envelope, description, [OpenApiExample("Success", {"success": 1, **example})])


def operation(
    *,
    answers: dict[int, OpenApiResponse],
    body: tuple[type[serializers.Serializer[Any]], dict[str, Any]] | None = None,
    query: type[serializers.Serializer[Any]] | None = None,
    path: OpenApiParameter | None = None,
    failures: Sequence[APIException] = (),
    read_only: bool = False,
    **description: Any,
) -> Callable[[F], F]:
    """Document a view's method: ``extend_schema`` with the failures that every operation of its kind can answer.

    ``body`` is the serializer of the request's body and an example; ``failures`` are those that the operation can
    answer besides. The host's DEFAULT_SCHEMA_CLASS plays no part.
    """
    every = [*FAILURES, *failures]
    if not read_only:
        every += FAILURES_OF_WRITING
    if query:
        every.append(QUERY_UNREADABLE)
    if body:
        every += FAILURES_OF_BODIES
        description["request"] = OpenApiRequest(body[0], examples=[OpenApiExample("Request", body[1])])
    document = extend_schema(
        parameters=[parameter for parameter in (path, query, *RESPONSE_HEADERS) if parameter],
        responses={**answers, **_failure_responses(every)},
        **{"request": None, **description},
    )

    def decorate(method: F) -> F:
        method.kwargs = {"schema": ContractSchema}  # type: ignore[attr-defined]  # where extend_schema looks first
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
