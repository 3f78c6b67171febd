"""Document the methods of a TokenView for the OpenAPI document."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any, TypeVar

from drf_spectacular.utils import OpenApiExample, OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework.exceptions import ErrorDetail, ValidationError

from usergroups.contract.cursors import Cursor

from .schema import ContractSchema, Documentation
from .views import TokenView

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
    *, summary: str, tags: Sequence[str], description: str | None = None, **documentation: Any
) -> Callable[[F], F]:
    """Document a method of a view, including the errors that every operation of its kind can return.

    The other arguments are the attributes of ``Documentation``. This extends ``extend_schema`` and ignores the host's
    DEFAULT_SCHEMA_CLASS.
    """
    documented = Documentation(**documentation)
    document = extend_schema(operation_id=documented.operation_id, summary=summary, tags=tags, description=description)

    def decorate(method: F) -> F:
        schema = type("OperationSchema", (ContractSchema,), {"documentation": documented})
        method.kwargs = {"schema": schema}  # type: ignore[attr-defined]  # extend_schema looks here first
        return document(method)

    return decorate


def operation_id(view: type[Any], method: str) -> str | None:
    """Return the ID of the operation that a method of a view is documented with, or None if there is none."""
    handler = getattr(view, "get" if method == "HEAD" else method.lower(), None)
    documentation = getattr(getattr(handler, "kwargs", {}).get("schema"), "documentation", None)
    return documentation.operation_id if isinstance(documentation, Documentation) else None
