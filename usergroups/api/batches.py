"""Validate the items of a batch separately and return a result for each.

Successful and failed items have results of one schema, because generated
clients in PHP have no type for a choice of two schemas.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.exceptions import APIException, ValidationError
from rest_framework.serializers import ListSerializer, Serializer

from .errors import failure
from .fields import ETAG_EXAMPLE, ETagField, TimestampField
from .requests import check_fields
from .serializers import (
    AnySerializer,
    Examples,
    FailureTypeField,
    ProblemSerializer,
    SerializerClass,
    SuccessField,
)

Result = Mapping[str, object]
"""The result of an item, by the names of its fields."""

MAX_ITEMS = 1000

MAX_PROBLEMS = 10
"""The maximum number of errors of an item, so that the results of a small batch
are not large.
"""


class FailedItem(dict[str, object]):
    """The result of an item that is invalid, or for which the operation
    failed.

    Its status and its body are those that a single request with this error
    would get, except that at most MAX_PROBLEMS errors are listed.
    """

    def __init__(self, error: APIException) -> None:
        super().__init__(status=error.status_code, **failure(error, MAX_PROBLEMS))


class BatchField(serializers.ListField):
    """A list of up to 1,000 items.

    Validation replaces each item by its validated data or by a ValidationError.
    """

    has_results = True
    """Tells the OpenAPI document that the errors of an item are in its result,
    not in an error response.
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(max_length=MAX_ITEMS, **kwargs)

    def run_child_validation(self, data: Sequence[object]) -> list[object]:
        # DRF checks this only after it has validated all items.
        if len(data) > MAX_ITEMS:
            self.fail("max_length", max_length=MAX_ITEMS)
        items: list[object] = []
        for item in data:
            try:
                items.append(self._validated(item))
            except ValidationError as invalid:
                # Without the frames, which would keep each item in memory.
                items.append(invalid.with_traceback(None))
        return items

    def _validated(self, item: object) -> object:
        """Return the validated data of an item. Raises ValidationError."""
        if isinstance(self.child, serializers.Serializer):
            # A serializer would report this for a field ``non_field_errors``.
            if not isinstance(item, dict):
                raise ValidationError(["Not a JSON object."], code="invalid")
            check_fields(item, self.child)
        return self.child.run_validation(item)


@extend_schema_field({"type": "integer", "minimum": 0, "maximum": 1})
class DoneField(SuccessField):
    """The integer 1, or 0 in a FailedItem."""


class ResultSerializer(serializers.Serializer[Mapping[str, object]]):
    """The result of an item of a batch."""

    examples: Examples = {"status": 200}
    failed: ClassVar[Result] = {}
    """The fields that the schema requires and a FailedItem lacks."""

    # A subclass adds the fields of a successful result, with required=False,
    # because successful and failed results have one type: generated clients in
    # PHP do not support alternatives.
    success = DoneField(help_text="1 if the item was processed, otherwise 0.")
    status = serializers.IntegerField(
        help_text="The status of the equivalent single request."
    )
    type = FailureTypeField(required=False)
    errors = ProblemSerializer(many=True, required=False)  # type: ignore[assignment]

    def to_representation(self, instance: Result) -> dict[str, Any]:
        if isinstance(instance, FailedItem):
            return {**instance, **self.failed}
        return super().to_representation(instance)


class WriteResultSerializer(ResultSerializer):
    """The result of an item of a batch that writes."""

    failed = {"changed": False}

    changed = serializers.BooleanField(
        help_text=(
            "Whether the batch created, changed or deleted the object. Of several "
            "items about one object, only the first can have true."
        )
    )


class StoredResultSerializer(WriteResultSerializer):
    """The result of an item of a batch that returns what it has stored."""

    examples: Examples = {"etag": ETAG_EXAMPLE}

    updated_at = TimestampField(
        required=False, help_text="When the object was last changed."
    )
    etag = ETagField(required=False)


def results_of(result: type[ResultSerializer]) -> AnySerializer:
    """Return the field of a response with the results of a batch."""
    help_text = "One result for each item, in the same order."
    return result(many=True, help_text=help_text)


@cache
def with_serializer(
    answer: SerializerClass, serializer: SerializerClass
) -> SerializerClass:
    """Return an envelope in which ``serializer`` takes the place of that of the
    same objects, also in lists and in results of batches.

    Both derive from one serializer. A subclass of that in the envelope, such as
    one with more details, is combined with ``serializer``.
    """
    replaced: dict[str, object] = {}
    for name, field in answer().fields.items():
        is_list = isinstance(field, ListSerializer)
        nested = type(getattr(field, "child", field))
        kind = combined(nested, serializer)
        if kind is not nested:
            options = {"required": field.required, "help_text": field.help_text}
            replaced[name] = kind(many=is_list, **options)
    if not replaced:
        return answer
    attributes = {**replaced, "__module__": serializer.__module__}
    name = serializer.__name__.removesuffix("Serializer") + answer.__name__
    return type(name, (answer,), attributes)


def combined(nested: type, serializer: SerializerClass) -> type:
    """Return the class that takes the place of ``nested``, the class of a field."""
    if issubclass(nested, ResultSerializer):
        return with_serializer(nested, serializer)
    common = {*nested.__mro__} & {*serializer.__mro__} - {*Serializer.__mro__}
    if not common or issubclass(nested, serializer):
        return nested
    if issubclass(serializer, nested):
        return serializer
    return type(serializer.__name__, (serializer, nested), {})
