"""Many calls in one: each item is checked for itself, and one that is wrong does not stop the rest."""

from collections.abc import Iterable, Iterator
from typing import Any

from drf_spectacular.utils import PolymorphicProxySerializer, extend_schema_field
from rest_framework import serializers
from rest_framework.exceptions import ValidationError

from .errors import failure
from .openapi import FailedResultSerializer
from .parsers import JSONObjectParser

MAX_ITEMS = 1000
MAX_BODY_SIZE = 8 * 1024 * 1024  # bytes


class BatchParser(JSONObjectParser):
    def max_body_size(self) -> int:
        return max(MAX_BODY_SIZE, super().max_body_size())


class BatchField(serializers.ListField):
    """A list of which each valid item becomes its validated data, each other one the ValidationError that says why."""

    child: serializers.Serializer[Any]

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(max_length=MAX_ITEMS, **kwargs)

    def run_child_validation(self, data: Any) -> Any:
        if len(data) > MAX_ITEMS:  # before the work, and not after it as the validator would
            self.fail("max_length", max_length=MAX_ITEMS)
        return [self._validated(item) for item in data]

    def _validated(self, item: Any) -> Any:
        if not isinstance(item, dict):
            return ValidationError(["Not a JSON object."], code="invalid")
        try:
            return self.child.run_validation(item)
        except ValidationError as error:
            return error


def results_field(component_name: str, succeeded: type[serializers.Serializer[Any]]) -> serializers.Field:  # type: ignore[type-arg]
    """A batch's results as they are, each of ``succeeded`` or a failure."""

    @extend_schema_field(
        PolymorphicProxySerializer(
            component_name, [succeeded, FailedResultSerializer], resource_type_field_name=None, many=True
        )
    )
    class ResultsField(serializers.ReadOnlyField):
        pass

    return ResultsField(help_text="One for each item, in order.")


def valid(items: Iterable[Any]) -> list[Any]:
    """Return the validated data of those items of a BatchField that have some."""
    return [item for item in items if not isinstance(item, ValidationError)]


def results(items: Iterable[Any], done: Iterator[tuple[int, dict[str, Any]]]) -> list[dict[str, Any]]:
    """Return each item's result, in order: the answer that a call of its own would have had, and its status.

    ``items`` come from a BatchField; ``done`` gives the status and the answer of each valid one, in order.
    """
    answers: list[dict[str, Any]] = []
    for item in items:
        if isinstance(item, ValidationError):
            answers.append({"status": item.status_code, **failure(item)})
        else:
            status, answer = next(done)
            answers.append({"status": status, "success": 1, **answer})
    return answers
