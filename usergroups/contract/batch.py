"""Validate the items of a batch separately and return a result for each."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, cast

from drf_spectacular.utils import PolymorphicProxySerializer, extend_schema_field
from rest_framework import serializers
from rest_framework.exceptions import ValidationError

from .errors import MAX_PROBLEMS, failure
from .failures import FailedResultSerializer

MAX_ITEMS = 1000
MIN_PROBLEMS = 2  # per item: the first error, and "too_many_errors"


@dataclass(frozen=True)
class InvalidItem:
    """An invalid item, with its result: the status and the body of the equivalent single request."""

    result: dict[str, Any]


class BatchField(serializers.ListField):
    """A list of up to 1,000 items. Validation replaces each item by its validated data or by an InvalidItem.

    The items share the 100 errors that a response may have. After that, each invalid item has its first error only.
    """

    child: serializers.Serializer[Any]

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
            except ValidationError as error:
                body = failure(error, problems_left)
                problems_left = max(MIN_PROBLEMS, problems_left - len(body["errors"]))
                items.append(InvalidItem({"status": error.status_code, **body}))
        return items

    def _validated(self, item: Any) -> Any:
        if not isinstance(item, dict):
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


def results(items: Iterable[Any], succeeded: Iterator[tuple[int, dict[str, Any]]]) -> list[dict[str, Any]]:
    """Return the results of the items of a BatchField, in the same order.

    ``succeeded`` yields the status and the body for each valid item, in the same order.
    """
    successes = ({"status": status, "success": 1, **body} for status, body in succeeded)
    return [item.result if isinstance(item, InvalidItem) else next(successes) for item in items]
