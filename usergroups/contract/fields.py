"""Serializer fields that take what is sent as it is, or refuse it: DRF's own would convert and trim."""

from datetime import UTC
from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import ISO_8601, serializers


class TextField(serializers.CharField):
    """A JSON string, of at least one character unless ``allow_blank``, kept with its surrounding spaces."""

    def __init__(self, **kwargs: Any) -> None:
        if not kwargs.get("allow_blank"):
            kwargs["min_length"] = 1
        super().__init__(trim_whitespace=False, **kwargs)

    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str):
            self.fail("invalid")
        return data


class ObjectField(serializers.DictField):
    """A JSON object; ``child`` tells what its values may be."""

    default_error_messages = {"not_a_dict": "Not a JSON object."}


class TimestampField(serializers.DateTimeField):
    """RFC 3339, given in UTC, whatever the host's DATETIME_FORMAT and TIME_ZONE."""

    default_error_messages = {"invalid": "Not a date and time as 2026-01-31T09:26:53Z."}

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(format=ISO_8601, input_formats=[ISO_8601], default_timezone=UTC, **kwargs)


@extend_schema_field({"type": "integer", "minimum": 1, "maximum": 1})
class SuccessField(serializers.ReadOnlyField):
    """The integer 1."""

    def get_attribute(self, instance: Any) -> int:
        return 1


class Envelope(serializers.Serializer[Any]):
    """A call that succeeded."""

    # A subclass adds a field for each thing in the answer; its instance is a dict of them.
    success = SuccessField()
