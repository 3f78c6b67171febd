"""Document the methods of a TokenView for the OpenAPI document."""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any, TypeVar

from drf_spectacular.utils import OpenApiExample, OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework.exceptions import APIException, ErrorDetail, ValidationError

from usergroups.tokens.views import TokenView

from .cursors import Cursor
from .schema import ContractSchema, Documentation

F = TypeVar("F", bound=Callable[..., Any])

INVALID_LIMIT = ValidationError({"limit": [ErrorDetail("A valid integer is required.", "invalid")]})


def missing(field: str) -> ValidationError:
    """Return the error that a required field is missing."""
    return ValidationError({field: [ErrorDetail("This field is required.", "required")]})


def exclude_contract_views(endpoints: list[tuple[str, str, str, Any]]) -> list[tuple[str, str, str, Any]]:
    """Exclude all TokenViews from an OpenAPI document. For drf-spectacular's PREPROCESSING_HOOKS."""
    return [endpoint for endpoint in endpoints if not issubclass(endpoint[3].cls, TokenView)]


def id_parameter(description: str, example: str) -> OpenApiParameter:
    """Document the id in the path."""
    return OpenApiParameter("id", str, "path", description=description, examples=[OpenApiExample("Id", example)])


def page_query(key: Any) -> dict[str, Any]:
    """Return an example of the query parameters of a list. The cursor is before all objects."""
    return {"cursor": Cursor(datetime(9999, 12, 31, tzinfo=UTC), key, False).encode(), "limit": 50, "order": "newest"}


def success_response(description: str, **example: Any) -> OpenApiResponse:
    """Document a successful response, with an example of the envelope's fields."""
    return OpenApiResponse(description=description, examples=[OpenApiExample("Success", {"success": 1, **example})])


def operation(
    *,
    operation_id: str,
    responses: dict[int, OpenApiResponse],
    request: dict[str, Any] | None = None,
    query: Mapping[str, Any] = MappingProxyType({}),
    path: OpenApiParameter | None = None,
    failures: Sequence[APIException] = (),
    read_only: bool = False,
    tagged: bool = False,
    conditional: bool = False,
    sent_file: Mapping[str, str] = MappingProxyType({}),
    returned_file: Mapping[str, str] = MappingProxyType({}),
    **description: Any,
) -> Callable[[F], F]:
    """Document a method of a view, including the errors that every operation of its kind can return.

    ``request`` is an example of the body, and ``query`` of the query parameters; ``failures`` are further errors. The
    responses of a ``tagged`` operation have an ETag, and a ``conditional`` operation honors If-Match. This extends
    ``extend_schema`` and ignores the host's DEFAULT_SCHEMA_CLASS.

    ``sent_file`` and ``returned_file`` have an example for each media type of the body of the request or of the
    successful response if that is a file.
    """
    documentation = Documentation(
        operation_id,
        responses,
        request,
        query,
        path,
        failures,
        read_only,
        tagged,
        conditional,
        sent_file,
        returned_file,
    )
    document = extend_schema(operation_id=operation_id, **description)

    def decorate(method: F) -> F:
        schema = type("OperationSchema", (ContractSchema,), {"documentation": documentation})
        method.kwargs = {"schema": schema}  # type: ignore[attr-defined]  # extend_schema looks here first
        return document(method)

    return decorate


def operation_id(view: type[Any], method: str) -> str | None:
    """Return the ID of the operation that a method of a view is documented with, or None if there is none."""
    handler = getattr(view, "get" if method == "HEAD" else method.lower(), None)
    documentation = getattr(getattr(handler, "kwargs", {}).get("schema"), "documentation", None)
    return documentation.operation_id if isinstance(documentation, Documentation) else None
