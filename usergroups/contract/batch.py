"""Validate the items of a batch separately and return a result for each."""

from collections.abc import Iterable, Iterator
from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.exceptions import APIException, ValidationError

from .errors import FailureTypeField, ProblemSerializer, failure
from .fields import SuccessField

MAX_ITEMS = 1000


class FailedItem(dict[str, Any]):
    """The result of an item that is invalid, or for which the operation failed."""


def failed(exception: APIException) -> FailedItem:
    """Return the result of an item: the status and the body that a single request with this error would get."""
    return FailedItem({"status": exception.status_code, **failure(exception)})


class BatchField(serializers.ListField):
    """A list of up to 1,000 items. Validation replaces each item by its validated data or by a FailedItem."""

    has_results = True
    """Tells the OpenAPI document that the errors of an item are in its result, not in an error response."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(max_length=MAX_ITEMS, **kwargs)

    def run_child_validation(self, data: Any) -> list[Any]:
        if len(data) > MAX_ITEMS:  # DRF would check this after validating all items
            self.fail("max_length", max_length=MAX_ITEMS)
        return [self._validated(item) for item in data]

    def _validated(self, item: Any) -> Any:
        if isinstance(self.child, serializers.Serializer) and not isinstance(item, dict):
            return failed(ValidationError(["Not a JSON object."], code="invalid"))
        try:
            return self.child.run_validation(item)
        except ValidationError as invalid:
            return failed(invalid)


@extend_schema_field({"type": "integer", "minimum": 0, "maximum": 1})
class DoneField(SuccessField):
    """The integer 1, or 0 in a FailedItem."""


class ResultSerializer(serializers.Serializer[Any]):
    """The result of an item of a batch."""

    # A subclass adds the fields of a successful result, with required=False, because successful and failed results
    # have one type: generated clients in PHP do not support alternatives.
    success = DoneField(help_text="1 if the item was processed, otherwise 0.")
    status = serializers.IntegerField(help_text="The status of the equivalent single request.")
    type = FailureTypeField(required=False)
    errors = ProblemSerializer(many=True, required=False)  # type: ignore[assignment]


class ResultsField(serializers.Field[Any, Any, Any, Any]):
    """The results of a batch: FailedItems, and dicts that ``result``, a subclass of ResultSerializer, serializes."""

    def __init__(self, result: type[ResultSerializer]) -> None:
        super().__init__(read_only=True, help_text="One result for each item, in the same order.")
        self.succeeded = result()
        for name in ("type", "errors"):  # only in FailedItems; DRF would look for them in each result
            del self.succeeded.fields[name]
        extend_schema_field(result(many=True))(self)  # type: ignore[type-var]  # It also decorates instances.

    def to_representation(self, value: Iterable[Any]) -> list[Any]:
        represent = self.succeeded.to_representation
        return [item if isinstance(item, FailedItem) else represent(item) for item in value]


def valid(items: Iterable[Any]) -> list[Any]:
    """Return the validated data of the valid items of a BatchField."""
    return [item for item in items if not isinstance(item, FailedItem)]


def results(items: Iterable[Any], valid_results: Iterator[Any]) -> Iterator[Any]:
    """Yield the results of the items of a BatchField. ``valid_results`` yields those of its valid items in order."""
    return (item if isinstance(item, FailedItem) else next(valid_results) for item in items)
