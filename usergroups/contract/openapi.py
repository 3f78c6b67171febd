"""The parts of the OpenAPI document that all operations share."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from django.utils import translation
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import (
    OpenApiExample,
    OpenApiParameter,
    OpenApiRequest,
    OpenApiResponse,
    extend_schema,
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
from .errors import TOO_MANY, BadRequest, DatabaseUnavailable, ServerError
from .etags import PreconditionFailed
from .failures import failure_responses, validation_codes

F = TypeVar("F", bound=Callable[..., Any])

with translation.override(None):  # DRF's details in English, as the views do
    FAILURES: list[APIException] = [
        BadRequest(),
        NotAuthenticated(),
        NotAuthenticated("This path takes another scheme.", code="wrong_scheme"),
        AuthenticationFailed("The token is unknown, expired or revoked."),
        AuthenticationFailed("The token is of another kind.", code="wrong_token_kind"),
        Throttled(17),
        ServerError(),
        DatabaseUnavailable(),
    ]
    UNSUPPORTED_MEDIA_TYPE = UnsupportedMediaType("text/plain")
FAILURES_OF_WRITING: list[APIException] = [PermissionDenied("The token is read-only.", code="insufficient_scope")]
INVALID_LIMIT = ValidationError({"limit": [ErrorDetail("A valid integer is required.", "invalid")]})
INVALID_QUERY = ParseError("The query string is not UTF-8 or has too many parameters.")
FAILURES_OF_BODIES: list[APIException] = [
    ParseError("The body is not a JSON object."),
    PayloadTooLarge(DEFAULT_MAX_BODY_SIZE),
    UNSUPPORTED_MEDIA_TYPE,
]
IF_MATCH = OpenApiParameter(
    "If-Match", str, "header", description="An ETag. If the object has changed since, the request is refused with 412."
)


def missing(field: str) -> ValidationError:
    """Return the error that a required field is missing."""
    return ValidationError({field: [ErrorDetail("This field is required.", "required")]})


class ContractSchema(AutoSchema):
    """Marks every request body as required, and takes no description from the docstring of a view."""

    def get_operation(self, *args: Any, **kwargs: Any) -> Any:
        described = super().get_operation(*args, **kwargs)
        if described and "requestBody" in described:
            described["requestBody"]["required"] = True
        return described

    def get_description(self) -> str:  # type: ignore[override]  # as in AutoSchema
        return f"{self.get_summary()}."


def success_response(envelope: type[serializers.Serializer[Any]], description: str, **example: Any) -> OpenApiResponse:
    """Document a successful response, with an example of the envelope's fields."""
    return OpenApiResponse(envelope, description, [OpenApiExample("Success", {"success": 1, **example})])


def operation(
    *,
    operation_id: str,
    responses: dict[int, OpenApiResponse],
    body: tuple[type[serializers.Serializer[Any]], dict[str, Any]] | None = None,
    query: type[serializers.Serializer[Any]] | None = None,
    path: OpenApiParameter | None = None,
    failures: Sequence[APIException] = (),
    read_only: bool = False,
    tagged: bool = False,
    conditional: bool = False,
    partial: bool = False,
    **description: Any,
) -> Callable[[F], F]:
    """Document a method of a view, including the errors that every operation of its kind can return.

    ``body`` is the serializer of the request's body and an example; ``failures`` are further errors. The responses of
    a ``tagged`` operation have an ETag, a ``conditional`` operation honors If-Match, and a ``partial`` one requires no
    field. This extends ``extend_schema`` and ignores the host's DEFAULT_SCHEMA_CLASS.
    """
    all_failures = [*FAILURES, *failures]
    codes: set[str] = set()
    if conditional:
        all_failures.append(PreconditionFailed())
    if not read_only:
        all_failures += FAILURES_OF_WRITING
    if query:
        all_failures.append(INVALID_QUERY)
        codes = codes.union(*map(validation_codes, query().fields.values())) - {"null"}
    if body:
        all_failures += FAILURES_OF_BODIES
        fields = body[0]().fields.values()
        codes = codes.union(*map(validation_codes, fields))
        if any(isinstance(field, serializers.DictField) for field in fields):
            codes.add(TOO_MANY["code"])
        if partial:
            codes.discard("required")
        description["request"] = OpenApiRequest(body[0], examples=[OpenApiExample("Request", body[1])])
    all_responses = {**responses, **failure_responses(operation_id, all_failures, codes)}
    document = extend_schema(
        operation_id=operation_id,
        parameters=[
            *(parameter for parameter in (path, query) if parameter),
            *([IF_MATCH] if conditional else []),
            *_response_headers([*all_responses], tagged),
        ],
        responses=all_responses,
        **{"request": None, **description},
    )

    def decorate(method: F) -> F:
        method.kwargs = {"schema": ContractSchema}  # type: ignore[attr-defined]  # extend_schema looks here first
        return document(method)

    return decorate


def _response_headers(statuses: list[int], tagged: bool) -> list[OpenApiParameter]:
    counted = [status for status in statuses if status != 401]  # the calls of a token are counted
    etag = _header("ETag", OpenApiTypes.STR, [200, 201], "Changes with every change of the object.")
    return [
        *([etag] if tagged else []),
        _header("Cache-Control", OpenApiTypes.STR, statuses, "Always `no-store`."),
        _header("Location", OpenApiTypes.URI_REF, [201], "The URL of the new object."),
        _header("WWW-Authenticate", OpenApiTypes.STR, [401], "The required scheme."),
        _header("Retry-After", OpenApiTypes.INT, [429, 503], "Seconds to wait before repeating the request."),
        _header(
            "RateLimit",
            OpenApiTypes.STR,
            counted,
            "The remaining calls, and the seconds until the window ends.",
        ),
        _header(
            "RateLimit-Policy",
            OpenApiTypes.STR,
            counted,
            "The calls allowed per window, and its length in seconds.",
        ),
    ]


def _header(name: str, kind: Any, statuses: list[int], description: str) -> OpenApiParameter:
    """Document a header of the responses with these statuses."""
    return OpenApiParameter(name, kind, "header", response=statuses, description=description)
