"""Batches: many calls in one request. Each item is validated on its own; an invalid one does not stop the rest."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, cast

from drf_spectacular.utils import PolymorphicProxySerializer, extend_schema_field
from rest_framework import serializers
from rest_framework.exceptions import ValidationError

from .errors import MAX_PROBLEMS, failure
from .openapi import FailedResultSerializer
from .parsers import JSONObjectParser

MAX_ITEMS = 1000
MAX_BODY_SIZE = 8 * 1024 * 1024  # bytes
FIRST_PROBLEM_ONLY = 2  # errors: the first, and the one that says that there are more


class BatchParser(JSONObjectParser):
    def max_body_size(self) -> int:
        return max(MAX_BODY_SIZE, super().max_body_size())


@dataclass(frozen=True)
class Refused:
    """An invalid item of a batch, with its result: its status and the body of a call of its own."""

    result: dict[str, Any]


class BatchField(serializers.ListField):
    """A list of up to 1,000 items, each of which becomes its validated data or, if it is invalid, Refused.

    The items of a request share the 100 errors that an answer may list. Once these are used up, each further invalid
    item lists its first error only.
    """

    child: serializers.Serializer[Any]

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(max_length=MAX_ITEMS, **kwargs)

    def run_child_validation(self, data: Any) -> list[Any]:
        if len(data) > MAX_ITEMS:  # the validator would refuse it only after the work
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
                problems_left = max(FIRST_PROBLEM_ONLY, problems_left - len(body["errors"]))
                items.append(Refused({"status": error.status_code, **body}))
        return items

    def _validated(self, item: Any) -> Any:
        if not isinstance(item, dict):
            raise ValidationError(["Not a JSON object."], code="invalid")
        return self.child.run_validation(item)


def results_field(component_name: str, succeeded: type[serializers.Serializer[Any]]) -> serializers.Field:  # type: ignore[type-arg]
    """Return a field for the results of a batch, each of them ``succeeded`` or a failure."""

    @extend_schema_field(
        PolymorphicProxySerializer(
            component_name, [succeeded, FailedResultSerializer], resource_type_field_name=None, many=True
        )
    )
    class ResultsField(serializers.ReadOnlyField):
        pass

    return ResultsField(help_text="One for each item, in order.")


def valid(items: Iterable[Any]) -> list[Any]:
    """Return the validated data of a BatchField's valid items."""
    return [item for item in items if not isinstance(item, Refused)]


def results(items: Iterable[Any], done: Iterator[tuple[int, dict[str, Any]]]) -> list[dict[str, Any]]:
    """Return the result of each item of a BatchField, in order: the answer to a call of its own, and its status.

    ``done`` yields the status and the answer of each valid item, in order.
    """
    answers: list[dict[str, Any]] = []
    for item in items:
        if isinstance(item, Refused):
            answers.append(item.result)
        else:
            status, answer = next(done)
            answers.append({"status": status, "success": 1, **answer})
    return answers
