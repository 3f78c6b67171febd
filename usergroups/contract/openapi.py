"""The parts of the OpenAPI document that all operations share."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from drf_spectacular.openapi import AutoSchema
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiExample, OpenApiParameter, OpenApiResponse, extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.exceptions import (
    APIException,
    AuthenticationFailed,
    NotAuthenticated,
    ParseError,
    PermissionDenied,
    UnsupportedMediaType,
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
    413: "The body is larger than the limit.",
    415: "The body is not declared as application/json.",
    500: "A fault of the server.",
    503: "The database cannot be reached.",
}

COMMON_FAILURES: list[APIException] = [
    ParseError("The body is not a JSON object."),
    NotAuthenticated(),
    AuthenticationFailed("The token is unknown, expired or revoked."),
    PermissionDenied("The token is read-only.", code="insufficient_scope"),
    PayloadTooLarge(DEFAULT_MAX_BODY_SIZE),
    UnsupportedMediaType("text/plain"),
    ServerError(),
    DatabaseUnavailable(),
]

RESPONSE_HEADERS = [
    OpenApiParameter(
        "WWW-Authenticate", OpenApiTypes.STR, "header", response=[401], description="The scheme that is asked for."
    ),
    OpenApiParameter("Retry-After", OpenApiTypes.INT, "header", response=[503], description="Seconds."),
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


def operation(
    *, responses: dict[int, OpenApiResponse], failures: Sequence[APIException] = (), **description: Any
) -> Callable[[F], F]:
    """Document a view's method: ``extend_schema`` with the failures that every operation with a body can answer.

    ``failures`` are those that it can answer besides. The host's DEFAULT_SCHEMA_CLASS plays no part.
    """
    responses = {**responses, **_failure_responses([*COMMON_FAILURES, *failures])}
    document = extend_schema(parameters=RESPONSE_HEADERS, responses=responses, **description)

    def decorate(method: F) -> F:
        method.kwargs = {"schema": AutoSchema}  # type: ignore[attr-defined]  # where extend_schema looks first
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
