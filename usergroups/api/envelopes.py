"""The bodies of responses: the envelopes of successful ones, and serializers that
describe error responses, for batches and the OpenAPI document.

The serializers in ``response_serializers`` of a view derive from Envelope, and
``BaseAPIView.respond`` renders them.

What is answered has open enumerations: strings whose known values the
document lists, because clients must accept new ones. All operations share one
list of error codes. With one for each operation and status, generated clients
had 120 more types, and the client in Go did not compile.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.serializers import Serializer

from .errors import Failure, Problem

AnySerializer = Serializer[Any]
SerializerClass = type[AnySerializer]

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
