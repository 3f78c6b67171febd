"""The parts of the OpenAPI document that all operations share."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from http import HTTPStatus
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
from .errors import TOO_MANY, BadRequest, DatabaseUnavailable, Failure, ServerError, failure

F = TypeVar("F", bound=Callable[..., Any])

DESCRIPTIONS = {
    400: "The request is malformed, or a field is missing or invalid.",
    401: "The request has no valid token of the required scheme.",
    403: "The token is read-only.",
    404: "The object does not exist, or belongs to another owner.",
    409: "The change would create a duplicate.",
    413: "The body exceeds the size limit.",
    415: "The Content-Type is not application/json.",
    429: "Too many requests with this token, or too many failed authentications from this address.",
    500: "Internal error.",
    503: "The database is unreachable, overloaded or read-only.",
}

FAILURES: list[APIException] = [
    BadRequest(),
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


UNREACHABLE_CODES = {
    "date",  # for values that do not come from a request
    "make_aware",
    "min_length",  # an empty value is reported as "blank" first
    "null_characters_not_allowed",  # refused by the parser
    "surrogate_characters_not_allowed",
}
"""Codes that the fields of DRF declare and a request cannot cause."""


def validation_codes(field: Any) -> set[str]:
    """Return the codes of all errors that the validation of a field, with the fields in it, can report."""
    condition = {
        "required": field.required,
        "null": not field.allow_null,
        "blank": not getattr(field, "allow_blank", True),
        "empty": not getattr(field, "allow_empty", True),
        **dict.fromkeys(("max_length", "min_value", "max_value"), False),  # unless a validator has the code
    }
    codes = {code for code in field.error_messages if condition.get(code, True)}
    codes |= {validator.code for validator in field.validators if hasattr(validator, "code")}
    children = [*getattr(field, "fields", {}).values(), *([field.child] if hasattr(field, "child") else [])]
    return codes.union(*map(validation_codes, children)) - UNREACHABLE_CODES


@cache
def enum_field(component_name: str, *values: str | int) -> type[serializers.Field[Any, Any, Any, Any]]:
    """Return the class of a field for one of ``values``, for documentation only.

    The values are a component of their own. drf-spectacular's enum hook, which a host may use, would otherwise choose
    the name of the component, and warn if other fields of this name have other values.
    """
    kind = "integer" if isinstance(values[0], int) else "string"
    field = type("EnumField", (serializers.Field,), {})
    return extend_schema_field({"type": kind, "enum": [*values]}, component_name)(field)


class ProblemSerializer(serializers.Serializer[Any]):
    code = serializers.CharField(help_text="A stable code for programs.")
    detail = serializers.CharField(help_text="An explanation for people; its wording may change.")
    attr = serializers.CharField(
        allow_null=True, help_text="The dotted path of the invalid field, or null if no single field is invalid."
    )


class FailureSerializer(serializers.Serializer[Any]):
    success = enum_field("Failed", 0)()
    type = enum_field("FailureType", "validation_error", "client_error", "server_error")()
    errors = ProblemSerializer(many=True)  # type: ignore[assignment]  # Serializer.errors is for input


class FailedResultSerializer(FailureSerializer):
    """The result of an invalid item of a batch."""

    status = serializers.IntegerField(help_text="The status of the equivalent single request.")


@cache
def failure_serializer(name: str, types: frozenset[str], codes: frozenset[str]) -> type[FailureSerializer]:
    """Return a FailureSerializer that documents only these values of ``type`` and ``code``."""
    code, kind = enum_field(f"{name}Code", *sorted(codes)), enum_field(_type_name(types), *sorted(types))
    problem = type(f"{name}ProblemSerializer", (ProblemSerializer,), {"code": code()})
    return type(f"{name}FailureSerializer", (FailureSerializer,), {"type": kind(), "errors": problem(many=True)})


class ContractSchema(AutoSchema):
    """Marks every request body as required, and takes no description from the docstring of a view."""

    def get_operation(self, *args: Any, **kwargs: Any) -> Any:
        described = super().get_operation(*args, **kwargs)
        if described and "requestBody" in described:
            described["requestBody"]["required"] = True
        return described

    def get_description(self) -> str:  # type: ignore[override]  # as in AutoSchema
        return f"{self.get_summary()}."


def answer(envelope: type[serializers.Serializer[Any]], description: str, **example: Any) -> OpenApiResponse:
    """Document a successful response, with an example of the envelope's fields."""
    return OpenApiResponse(envelope, description, [OpenApiExample("Success", {"success": 1, **example})])


def operation(
    *,
    operation_id: str,
    answers: dict[int, OpenApiResponse],
    body: tuple[type[serializers.Serializer[Any]], dict[str, Any]] | None = None,
    query: type[serializers.Serializer[Any]] | None = None,
    path: OpenApiParameter | None = None,
    failures: Sequence[APIException] = (),
    read_only: bool = False,
    **description: Any,
) -> Callable[[F], F]:
    """Document a method of a view, including the errors that every operation of its kind can return.

    ``body`` is the serializer of the request's body and an example; ``failures`` are further errors. This extends
    ``extend_schema`` and ignores the host's DEFAULT_SCHEMA_CLASS.
    """
    all_failures = [*FAILURES, *failures]
    codes: set[str] = set()
    if not read_only:
        all_failures += FAILURES_OF_WRITING
    if query:
        all_failures.append(QUERY_UNREADABLE)
        codes = codes.union(*map(validation_codes, query().fields.values())) - {"null"}
    if body:
        all_failures += FAILURES_OF_BODIES
        codes = codes.union({TOO_MANY["code"]}, *map(validation_codes, body[0]().fields.values()))
        description["request"] = OpenApiRequest(body[0], examples=[OpenApiExample("Request", body[1])])
    responses = {**answers, **_failure_responses(_class_name(operation_id), all_failures, codes)}
    document = extend_schema(
        operation_id=operation_id,
        parameters=[parameter for parameter in (path, query, *_response_headers([*responses])) if parameter],
        responses=responses,
        **{"request": None, **description},
    )

    def decorate(method: F) -> F:
        method.kwargs = {"schema": ContractSchema}  # type: ignore[attr-defined]  # extend_schema looks here first
        return document(method)

    return decorate


def _response_headers(statuses: list[int]) -> list[OpenApiParameter]:
    counted = [status for status in statuses if status != 401]  # the calls of a token are counted
    return [
        _header("Cache-Control", OpenApiTypes.STR, statuses, "Always `no-store`."),
        _header("Location", OpenApiTypes.URI_REF, [201], "The address of the new object."),
        _header("WWW-Authenticate", OpenApiTypes.STR, [401], "The required scheme."),
        _header("Retry-After", OpenApiTypes.INT, [429, 503], "Seconds to wait before the call is repeated."),
        _header("RateLimit", OpenApiTypes.STR, counted, "Remaining calls, and seconds until the window ends."),
        _header("RateLimit-Policy", OpenApiTypes.STR, counted, "Calls allowed in a window, and its seconds."),
    ]


def _header(name: str, kind: Any, statuses: list[int], description: str) -> OpenApiParameter:
    """Document a header of the responses with these statuses."""
    return OpenApiParameter(name, kind, "header", response=statuses, description=description)


def _failure_responses(
    operation_name: str, exceptions: Iterable[APIException], validation_codes: set[str]
) -> dict[int, OpenApiResponse]:
    """Return the response of each status of the exceptions. ``validation_codes`` are further codes of status 400."""
    bodies: defaultdict[int, list[Failure]] = defaultdict(list)
    for exception in exceptions:
        bodies[exception.status_code].append(failure(exception))
    responses = {}
    for status, failures in sorted(bodies.items()):
        types = {body["type"] for body in failures}
        codes = {problem["code"] for body in failures for problem in body["errors"]}
        if status == 400 and validation_codes:
            types, codes = {*types, "validation_error"}, codes | validation_codes
        name = _failure_name(operation_name, status, codes)
        responses[status] = OpenApiResponse(
            failure_serializer(name, frozenset(types), frozenset(codes)),
            DESCRIPTIONS[status],
            [OpenApiExample(_example_name(body), body) for body in failures],
        )
    return responses


def _failure_name(operation_name: str, status: int, codes: set[str]) -> str:
    """Return a name that no failure with other codes has."""
    if len(codes) == 1:
        return _class_name(*codes)
    phrase = HTTPStatus(status).phrase.replace(" ", "")
    return phrase if status == NotAuthenticated.status_code else f"{operation_name}{phrase}"


def _type_name(types: Iterable[str]) -> str:
    return "Or".join(_class_name(each) for each in sorted(types)) + "Type"


def _class_name(name: str) -> str:
    return name.title().replace("_", "")


def _example_name(body: Failure) -> str:
    problem = body["errors"][0]
    return f"{problem['code']} at {problem['attr']}" if problem["attr"] else problem["code"]
