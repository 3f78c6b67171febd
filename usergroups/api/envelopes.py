"""The bodies of successful responses.

The serializers in ``response_serializers`` of a view derive from Envelope, and
``BaseAPIView.respond`` renders them.
"""

from collections.abc import Mapping
from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.serializers import Serializer


@extend_schema_field({"type": "integer", "enum": [1]}, "UsergroupsSucceeded")
class SuccessField(serializers.Field[object, object, int, object]):
    """The field ``success`` of a successful response, always the integer 1."""

    def __init__(self, **kwargs: Any) -> None:
        # "*", because the serialized dict has no such key
        super().__init__(source="*", **kwargs)

    def to_representation(self, value: object) -> int:
        return 1


class Envelope(serializers.Serializer[Mapping[str, object]]):
    """The body of a successful response."""

    # A subclass adds the response's other fields. It serializes a mapping.
    success = SuccessField()


def represent_the_same(nested: type, serializer: type[Serializer[Any]]) -> bool:
    """Return whether ``serializer`` is for the objects of a nested serializer,
    and changes their representation.
    """
    if issubclass(nested, serializer):
        return False
    common = {*nested.__mro__} & {*serializer.__mro__} - {*Serializer.__mro__}
    return bool(common)
