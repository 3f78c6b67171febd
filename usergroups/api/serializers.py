"""The serializers of all views: the envelopes of successful responses, error
responses for batches and the OpenAPI document, and how serializers are reused.

The serializers in ``response_serializers`` of a view derive from Envelope, and
``BaseAPIView.respond`` renders them.

What is answered has open enumerations: strings whose known values the
document lists, because clients must accept new ones. All operations share one
list of error codes. With one for each operation and status, generated clients
had 120 more types, and the client in Go did not compile.
"""

import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.fields import empty
from rest_framework.serializers import ListSerializer, Serializer

from .errors import Failure, Problem

AnySerializer = Serializer[Any]
SerializerClass = type[AnySerializer]

Validated = dict[str, Any]
"""The validated data of a serializer, by the names of the model's fields."""

Examples = Mapping[str, object]
"""Examples of the values of a serializer's fields, its attribute ``examples``."""


@extend_schema_field({"type": "integer", "enum": [1]}, "UsergroupsSucceeded")
class SuccessField(serializers.Field[object, object, int, object]):
    """The field ``success`` of a successful response, always the integer 1."""

    def __init__(self, **kwargs: Any) -> None:
        # "*", because the serialized dict has no such key
        super().__init__(source="*", **kwargs)

    def get_attribute(self, instance: object) -> object:
        return instance

    def to_representation(self, value: object) -> int:
        return 1


class Envelope(serializers.Serializer[Mapping[str, object]]):
    """The body of a successful response."""

    # A subclass adds the response's other fields. It serializes a mapping.
    success = SuccessField()


ERROR_CODE = "The code of an error."


def open_enumeration(description: str, values: Iterable[str]) -> dict[str, object]:
    """Return the schema of a string that has one of these values, to which
    later versions may add others.
    """
    known = list(values)
    return {
        "type": "string",
        "description": f"{description} Values may be added to the known ones.",
        "x-extensible-enum": known,
        "example": known[0],
    }


# Each enumeration has a name. Otherwise, drf-spectacular's enum hook, which hosts
# may use, would name it after the field, and warn if another field of the same
# name has other values.


@extend_schema_field({"type": "integer", "enum": [0]}, "UsergroupsFailed")
class FailedField(serializers.IntegerField):
    """The field ``success`` of an error response, always the integer 0."""


@extend_schema_field(
    open_enumeration(
        "The kind of an error.", ["validation_error", "client_error", "server_error"]
    ),
    "UsergroupsFailureType",
)
class FailureTypeField(serializers.CharField):
    """The kind of an error."""


@extend_schema_field(
    open_enumeration(ERROR_CODE, ["method_not_allowed", "not_found"]),
    "UsergroupsErrorCode",
)
class ErrorCodeField(serializers.CharField):
    """The code of an error.

    These are the codes for unknown paths and refused methods. OperationSchema
    adds those of all operations. With an enumeration for each operation, the
    names in clients would clash.
    """


class ProblemSerializer(serializers.Serializer[Problem]):
    examples = {
        "detail": "The user group has no collection with this id.",
        "attr": "collection",
        "existing": "01930e7a-5b5c-7c42-9f8e-3a1d5b0c7e21",
    }

    code = ErrorCodeField()
    detail = serializers.CharField(
        help_text="An explanation for people; its wording may change."
    )
    attr = serializers.CharField(
        allow_null=True,
        help_text=(
            "The dotted path of the invalid field, or null if no single field is "
            "invalid."
        ),
    )
    existing = serializers.CharField(
        required=False,
        help_text="The id of the object in the way, if the code is `already_exists`.",
    )


class FailureSerializer(serializers.Serializer[Failure]):
    """The body of an error response."""

    success = FailedField()
    type = FailureTypeField()
    # Serializer.errors is for input
    errors = ProblemSerializer(many=True)  # type: ignore[assignment]


class SerializerPool(threading.local):
    """The serializers of a thread that no request uses.

    With a new serializer for each request, whose fields DRF copies, validating
    a user group takes 91 µs instead of 10, and rendering it 97 instead of 8.
    """

    def __init__(self) -> None:
        self._free: dict[tuple[type, bool], list[AnySerializer]] = defaultdict(list)

    def take(
        self,
        endings: list[Callable[[], None]],
        serializer_class: SerializerClass,
        context: Mapping[str, object],
        partial: bool = False,
    ) -> AnySerializer:
        """Return a serializer of this class. Nobody else uses it until the
        function that this adds to the ``endings`` of the call gives it back.
        """
        if not is_reusable(serializer_class):
            return serializer_class(context=context, partial=partial)
        free = self._free[serializer_class, partial]
        if not free:
            serializer = serializer_class(partial=partial)
            # Create the fields now, so that they are part of the state.
            use_plain_fields(serializer)
            free.append(serializer)
        taken = free.pop()
        attributes = vars(taken)
        state = {**attributes}

        def give_back() -> None:
            attributes.clear()
            attributes.update(state)
            free.append(taken)

        endings.append(give_back)
        # that of DRF's argument ``context``
        attributes["_context"] = context
        return taken


def use_plain_fields(field: object) -> None:
    """Replace DRF's mapping of the fields of a serializer, and of those in it,
    by a dict, over which a loop runs no code in Python.
    """
    if isinstance(field, Serializer):
        vars(field)["fields"] = {**field.fields}
        for nested in field.fields.values():
            use_plain_fields(nested)
    if isinstance(field, ListSerializer):
        use_plain_fields(field.child)


def leave_out_omitted_fields(serializer: AnySerializer) -> None:
    """Let the serializer of a request validate only fields that were sent,
    must be sent, or have a default.

    DRF makes 12 calls for each other field, 3 % of the function calls of a POST.
    """
    fields = {}
    for name, field in serializer.fields.items():
        has_value = name in serializer.initial_data or field.default is not empty
        if has_value or field.required:
            fields[name] = field
    vars(serializer)["fields"] = fields


@cache
def is_reusable(serializer_class: SerializerClass) -> bool:
    """Return whether all serializers of the class have the same fields.

    One of the host may choose them in these methods.
    """
    return (
        serializer_class.__init__ is Serializer.__init__
        and serializer_class.get_fields is Serializer.get_fields
    )


pool = SerializerPool()
