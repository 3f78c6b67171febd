"""Fields of serializers and models that keep text and JSON as they were sent,
fields for times, and the envelope.
"""

import json
import re
from datetime import UTC, datetime
from functools import reduce
from operator import add
from typing import Any

import orjson
from django.db import models
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models.expressions import Combinable
from django.db.models.functions import Coalesce
from django.db.models.query_utils import DeferredAttribute
from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import extend_schema_field
from rest_framework import ISO_8601, serializers

# The colon of the offset is optional, because Python clients of
# openapi-generator omit it in query strings.
_RFC_3339 = re.compile(
    r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(?P<offset>Z|[+-]\d\d:?\d\d)?", re.ASCII
)


class TextField(serializers.CharField):
    """A string, with surrounding spaces kept.

    It must not be empty unless ``allow_blank``.
    """

    def __init__(self, **kwargs: Any) -> None:
        if not kwargs.get("allow_blank"):
            # for the OpenAPI document; DRF itself refuses empty text
            kwargs["min_length"] = 1
        super().__init__(trim_whitespace=False, **kwargs)

    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str):
            self.fail("invalid")
        return data


class ObjectField(serializers.DictField):
    """A JSON object, kept unchanged."""

    default_error_messages = {"not_an_object": _("Not a JSON object.")}

    def to_internal_value(self, data: Any) -> Any:
        if not isinstance(data, dict):
            self.fail("not_an_object")
        return data


class TimestampField(serializers.DateTimeField):
    """A time with an offset, as in RFC 3339.

    It is rendered in UTC, whatever the host's settings are.
    """

    default_error_messages = {
        "invalid": (
            "Not a date and time like 2026-01-31T09:26:53Z. In a URL, write + as %2B."
        ),
        "no_offset": "The time has no offset such as Z or +01:00.",
    }

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(
            format=ISO_8601, input_formats=[ISO_8601], default_timezone=UTC, **kwargs
        )

    def to_representation(self, value: Any) -> str:
        text: str = value.astimezone(UTC).isoformat()
        return text.replace("+00:00", "Z")

    def to_internal_value(self, value: Any) -> datetime:
        text = value.upper() if isinstance(value, str) else ""
        match = _RFC_3339.fullmatch(text)
        if match is None:
            self.fail("invalid")
        if not match["offset"]:
            self.fail("no_offset")
        return super().to_internal_value(text)


@extend_schema_field({"type": "integer", "enum": [1]}, "UsergroupsSucceeded")
class SuccessField(serializers.Field[Any, Any, int, Any]):
    """The field ``success`` of a successful response, always the integer 1."""

    def __init__(self, **kwargs: Any) -> None:
        # "*", because the serialized dict has no such key
        super().__init__(source="*", **kwargs)

    def to_representation(self, value: Any) -> int:
        return 1


class Envelope(serializers.Serializer[Any]):
    """The body of a successful response."""

    # A subclass adds the response's other fields. It serializes a dict.
    success = SuccessField()


# Stored JSON

encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


class JSONText(str):
    """JSON text as it is stored, not decoded yet.

    The type distinguishes it from a string to be encoded.
    """

    __slots__ = ()


class DecodedAttribute(DeferredAttribute):
    """Decodes the stored text when the attribute is read for the first time."""

    def __get__(self, instance: Any, cls: Any = None) -> Any:
        value = super().__get__(instance, cls)
        if isinstance(value, JSONText):
            value = instance.__dict__[self.field.attname] = json.loads(value)
        return value

    # so that Python calls __get__ although __dict__ has a value
    def __set__(self, instance: Any, value: Any) -> None:
        instance.__dict__[self.field.attname] = value


class JSONObjectField(models.JSONField):
    """A JSON object that keeps the order of its keys and the types of its
    numbers.

    Django uses PostgreSQL's type ``jsonb``, which sorts keys and returns
    ``1e23`` as an integer. This field stores the text, and decodes it only if
    the attribute is read. ``values()`` returns the text. To look up keys,
    first apply ``Cast("properties", models.JSONField())``.
    """

    descriptor_class = DecodedAttribute

    def db_type(self, connection: BaseDatabaseWrapper) -> str | None:
        return "text"

    def get_db_prep_value(
        self, value: Any, connection: BaseDatabaseWrapper, prepared: bool = False
    ) -> Any:
        return (
            value
            if value is None or isinstance(value, JSONText)
            else JSONText(encode(value))
        )

    def from_db_value(
        self, value: Any, expression: Any, connection: BaseDatabaseWrapper
    ) -> Any:
        return value if value is None else JSONText(value)

    def pre_save(self, model_instance: models.Model, add: bool) -> Any:
        return stored_text(model_instance, self.attname)


def stored_text(instance: models.Model, name: str) -> JSONText | None:
    """Return the value of a JSONObjectField as JSON text, without decoding a
    value that was loaded as text.
    """
    # loads a deferred field
    value = vars(instance)[name] if name in vars(instance) else getattr(instance, name)
    if value is None or isinstance(value, JSONText):
        return value
    return JSONText(encode(value))


class ByteLength(models.Func):
    """The number of bytes of a text, which PostgreSQL knows without reading a
    large one.
    """

    function = "OCTET_LENGTH"
    output_field = models.IntegerField()

    def as_sqlite(
        self, compiler: Any, connection: BaseDatabaseWrapper, **context: Any
    ) -> Any:
        template = "LENGTH(CAST(%(expressions)s AS BLOB))"
        return self.as_sql(compiler, connection, template=template, **context)


def stored_size(*names: str) -> Combinable:
    """Return an expression for the number of bytes that JSONObjectFields take
    in total.
    """
    sizes = [Coalesce(ByteLength(name), 0) for name in names]
    return reduce(add, sizes)


class StoredObjectField(ObjectField):
    """A JSONObjectField of a model, which is copied to the response without
    decoding it.
    """

    def get_attribute(self, instance: models.Model) -> Any:
        return stored_text(instance, str(self.source))

    def to_representation(self, value: Any) -> Any:
        return orjson.Fragment(value.encode())  # Fragment refuses subclasses of str.
