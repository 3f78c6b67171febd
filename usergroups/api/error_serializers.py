"""Serializers that describe error responses, for batches and the OpenAPI
document.

All operations share one enumeration of error codes. With one for each
operation and status, generated clients had 120 more types, and the client in
Go did not compile.
"""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

# Each enumeration has a name. Otherwise, drf-spectacular's enum hook, which hosts
# may use, would name it after the field, and warn if another field of the same
# name has other values.


@extend_schema_field({"type": "integer", "enum": [0]}, "UsergroupsFailed")
class FailedField(serializers.IntegerField):
    """The field ``success`` of an error response, always the integer 0."""


@extend_schema_field(
    {"type": "string", "enum": ["validation_error", "client_error", "server_error"]},
    "UsergroupsFailureType",
)
class FailureTypeField(serializers.CharField):
    """The kind of an error."""


@extend_schema_field(
    {"type": "string", "enum": ["method_not_allowed", "not_found"]},
    "UsergroupsErrorCode",
)
class ErrorCodeField(serializers.CharField):
    """The code of an error.

    These are the codes for unknown paths and refused methods. OperationSchema
    adds those of all operations. With an enumeration for each operation, the
    names in clients would clash.
    """


class ProblemSerializer(serializers.Serializer[Any]):
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


class FailureSerializer(serializers.Serializer[Any]):
    """The body of an error response."""

    success = FailedField()
    type = FailureTypeField()
    # Serializer.errors is for input
    errors = ProblemSerializer(many=True)  # type: ignore[assignment]
