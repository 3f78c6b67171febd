"""Validate the items of a batch separately and return a result for each."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, cast

from drf_spectacular.utils import PolymorphicProxySerializer, extend_schema_field
from rest_framework import serializers
from rest_framework.exceptions import APIException, ValidationError

from .errors import MAX_PROBLEMS, failure
from .failures import FailedResultSerializer

MAX_ITEMS = 1000
MIN_PROBLEMS = 2  # of an invalid item: its first error, and another one or "too_many_errors"


@dataclass(frozen=True)
class InvalidItem:
    """An invalid item, with its result."""

    result: dict[str, Any]


def success(status: int, **fields: Any) -> dict[str, Any]:
    """Return the result of an item: the status and the body of the equivalent single request."""
    return {"status": status, "success": 1, **fields}


def error(exception: APIException, max_problems: int = MAX_PROBLEMS) -> dict[str, Any]:
    """Return the result of an item that failed."""
    return {"status": exception.status_code, **failure(exception, max_problems)}


class BatchField(serializers.ListField):
    """A list of up to 1,000 items. Validation replaces each item by its validated data or by an InvalidItem.

    The items share the 100 errors that a response may have. After that, each invalid item has at most two errors, the
    second of which may be ``too_many_errors``.
    """

    has_results = True
    """The errors of an item are in its result, not in the response to the request."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(max_length=MAX_ITEMS, **kwargs)

    def run_child_validation(self, data: Any) -> list[Any]:
        if len(data) > MAX_ITEMS:  # DRF would check this after validating all items
            self.fail("max_length", max_length=MAX_ITEMS)
        items: list[Any] = []
        problems_left = MAX_PROBLEMS
        context = cast(dict[str, Any], self.context)
        for item in data:
            context["max_problems"] = problems_left
            try:
                items.append(self._validated(item))
            except ValidationError as invalid:
                result = error(invalid, problems_left)
                problems_left = max(MIN_PROBLEMS, problems_left - len(result["errors"]))
                items.append(InvalidItem(result))
        return items

    def _validated(self, item: Any) -> Any:
        if isinstance(self.child, serializers.Serializer) and not isinstance(item, dict):
            raise ValidationError(["Not a JSON object."], code="invalid")
        return self.child.run_validation(item)


def results_field(component_name: str, succeeded: type[serializers.Serializer[Any]]) -> serializers.Field:  # type: ignore[type-arg]
    """Return a field for the results of a batch, each of which is a ``succeeded`` or an error."""

    @extend_schema_field(
        PolymorphicProxySerializer(
            component_name, [succeeded, FailedResultSerializer], resource_type_field_name=None, many=True
        )
    )
    class ResultsField(serializers.ReadOnlyField):
        pass

    return ResultsField(help_text="One result for each item, in the same order.")


def valid(items: Iterable[Any]) -> list[Any]:
    """Return the validated data of the valid items of a BatchField."""
    return [item for item in items if not isinstance(item, InvalidItem)]


def results(items: Iterable[Any], valid_results: Iterator[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the results of the items of a BatchField. ``valid_results`` yields those of its valid items in order."""
    return [item.result if isinstance(item, InvalidItem) else next(valid_results) for item in items]
