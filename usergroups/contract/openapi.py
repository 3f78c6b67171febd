"""The body of an error response in the OpenAPI document."""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers


def enum_field(name: str, *values: str | int) -> type[serializers.Field[Any, Any, Any, Any]]:
    """Return the class of a field for one of ``values``, for documentation only.

    The values are a component of their own. drf-spectacular's enum hook, which a host may use, would otherwise choose
    the name of the component, and warn if other fields of this name have other values.
    """
    kind = "integer" if isinstance(values[0], int) else "string"
    field = type("EnumField", (serializers.Field,), {})
    return extend_schema_field({"type": kind, "enum": [*values]}, f"Usergroups{name}")(field)


FailureTypeField = enum_field("FailureType", "validation_error", "client_error", "server_error")


class ProblemSerializer(serializers.Serializer[Any]):
    # The schema of an operation adds its codes. One enumeration of all of them has unique names in every language.
    code = enum_field("ErrorCode", "method_not_allowed", "not_found")()
    detail = serializers.CharField(help_text="An explanation for people; its wording may change.")
    attr = serializers.CharField(
        allow_null=True, help_text="The dotted path of the invalid field, or null if no single field is invalid."
    )


class FailureSerializer(serializers.Serializer[Any]):
    """The body of an error response."""

    success = enum_field("Failed", 0)()
    type = FailureTypeField()
    errors = ProblemSerializer(many=True)  # type: ignore[assignment]  # Serializer.errors is for input
