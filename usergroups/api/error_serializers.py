"""Serializers that describe error responses, for batches and the OpenAPI
document.
"""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

# The OpenAPI document


def enum_field(
    name: str, *values: str | int
) -> type[serializers.Field[Any, Any, Any, Any]]:
    """Return the class of a field for one of ``values``, for documentation
    only.

    They become the OpenAPI component ``Usergroups<name>``. Otherwise,
    drf-spectacular's enum hook, which hosts may use, would name the component
    after the field, and warn if another field of the same name has other
    values.
    """
    kind = "integer" if isinstance(values[0], int) else "string"
    field = type("EnumField", (serializers.Field,), {})
    return extend_schema_field({"type": kind, "enum": [*values]}, f"Usergroups{name}")(
        field
    )


FailureTypeField = enum_field(
    "FailureType", "validation_error", "client_error", "server_error"
)


class ProblemSerializer(serializers.Serializer[Any]):
    # The codes for unknown paths and refused methods, to which OperationSchema
    # adds those of all operations. With an enumeration for each operation, the
    # names in clients would clash.
    code = enum_field("ErrorCode", "method_not_allowed", "not_found")()
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


class FailureSerializer(serializers.Serializer[Any]):
    """The body of an error response."""

    success = enum_field("Failed", 0)()
    type = FailureTypeField()
    # Serializer.errors is for input
    errors = ProblemSerializer(many=True)  # type: ignore[assignment]
