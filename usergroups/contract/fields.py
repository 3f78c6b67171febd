"""Serializer fields that never convert or trim a value, unlike DRF's."""

from datetime import UTC
from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import ISO_8601, serializers


class TextField(serializers.CharField):
    """A string, with surrounding spaces kept. It must not be empty unless ``allow_blank``."""

    def __init__(self, **kwargs: Any) -> None:
        if not kwargs.get("allow_blank"):
            kwargs["min_length"] = 1
        super().__init__(trim_whitespace=False, **kwargs)

    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str):
            self.fail("invalid")
        return data


class ObjectField(serializers.DictField):
    """A JSON object, kept unchanged."""

    default_error_messages = {"not_a_dict": "Not a JSON object."}

    def run_child_validation(self, data: Any) -> Any:
        return data

    def to_representation(self, value: Any) -> Any:
        return value


class TimestampField(serializers.DateTimeField):
    """A time as in RFC 3339, rendered in UTC whatever the host's DATETIME_FORMAT and TIME_ZONE are."""

    default_error_messages = {"invalid": "Not a date and time like 2026-01-31T09:26:53Z."}

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(format=ISO_8601, input_formats=[ISO_8601], default_timezone=UTC, **kwargs)


@extend_schema_field({"type": "integer", "enum": [1]}, "Succeeded")
class SuccessField(serializers.Field[Any, Any, int, Any]):
    """The integer 1."""

    def __init__(self) -> None:
        super().__init__(source="*")

    def to_representation(self, value: Any) -> int:
        return 1


class Envelope(serializers.Serializer[Any]):
    """A call that succeeded."""

    # A subclass adds the response's other fields. It serializes a dict.
    success = SuccessField()
