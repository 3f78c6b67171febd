"""Serializer fields that take what is sent as it is, or refuse it: DRF's own would convert and trim."""

from datetime import UTC
from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import ISO_8601, serializers


class TextField(serializers.CharField):
    """A JSON string of at least one character, kept with its surrounding spaces."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(trim_whitespace=False, min_length=1, **kwargs)

    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str):
            self.fail("invalid")
        return data


class ObjectField(serializers.DictField):
    """A JSON object; ``child`` tells what its values may be."""

    default_error_messages = {"not_a_dict": "Not a JSON object."}


class TimestampField(serializers.DateTimeField):
    """RFC 3339 in UTC, whatever the host's DATETIME_FORMAT and TIME_ZONE."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(format=ISO_8601, default_timezone=UTC, **kwargs)


@extend_schema_field({"type": "integer", "minimum": 1, "maximum": 1})
class SuccessField(serializers.ReadOnlyField):
    """The integer 1."""

    def get_attribute(self, instance: Any) -> int:
        return 1


class Envelope(serializers.Serializer[Any]):
    """A call that succeeded."""

    # A subclass adds a field for each thing in the answer; its instance is a dict of them.
    success = SuccessField()
