"""Fields of serializers that keep text and JSON as they were sent or take only
one type of JSON, and fields for times.
"""

import re
from datetime import UTC, datetime
from typing import Any

import orjson
from django.db import models
from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import extend_schema_field
from rest_framework import ISO_8601, serializers

from usergroups.db.storable_text import require_storable
from usergroups.db.stored_json import stored_text

from .preconditions import etag, version_of

# The colon of the offset is optional, because Python clients of
# openapi-generator omit it in query strings.
_RFC_3339 = re.compile(
    r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(?P<offset>Z|[+-]\d\d:?\d\d)?", re.ASCII
)
_DIGITS = re.compile("-?[0-9]+")

ETAG_EXAMPLE = '"649f2b6a1c2d3"'


def rfc_3339_text(time: datetime) -> str:
    """Return the time as in RFC 3339, in UTC.

    It always has six digits of fraction, so that texts sort like the times.
    """
    text = time.astimezone(UTC).isoformat(timespec="microseconds")
    return text.replace("+00:00", "Z")


class TextField(serializers.CharField):
    """A string, with surrounding spaces kept.

    It must not be empty unless ``allow_blank``.
    """

    def __init__(self, **kwargs: Any) -> None:
        if not kwargs.get("allow_blank"):
            # For the OpenAPI document. DRF itself refuses empty text.
            kwargs["min_length"] = 1
        super().__init__(trim_whitespace=False, **kwargs)
        # DRF appends two validators, one of which loops over all characters.
        self.validators[-2:] = [require_storable]

    def to_internal_value(self, data: object) -> str:
        if not isinstance(data, str):
            self.fail("invalid")
        return data


class OfRow:
    """Makes a field represent an attribute of a row.

    DRF's fields would also accept mappings and call methods, which takes a
    fifth of the function calls of a list.
    """

    def get_attribute(self, instance: models.Model) -> Any:
        return getattr(instance, self.source)  # type: ignore[attr-defined]


class TextOfRow(OfRow, serializers.CharField):
    """A text of a row."""


class IntegerOfRow(OfRow, serializers.IntegerField):
    """An integer of a row."""


class StrictBooleanField(serializers.BooleanField):
    """The JSON value true or false.

    Strings and numbers that BooleanField accepts are invalid.
    """

    def to_internal_value(self, data: object) -> bool:
        if not isinstance(data, bool):
            self.fail("invalid")
        return data


class StrictIntegerField(serializers.IntegerField):
    """A JSON number without a fraction.

    Strings that IntegerField accepts are invalid.
    """

    def to_internal_value(self, data: object) -> int:
        if type(data) is not int:
            self.fail("invalid")
        return data


class QueryBooleanField(serializers.BooleanField):
    """A boolean of a query parameter, as generated clients write it: ``true``
    in Java, ``True`` in Python, ``1`` in PHP.

    Other texts that BooleanField accepts, such as ``on``, are invalid.
    """

    TRUE_VALUES = {"true", "1"}
    FALSE_VALUES = {"false", "0"}


class QueryIntegerField(serializers.IntegerField):
    """The digits of a number in a query parameter.

    Other texts that IntegerField accepts, such as ``5.0``, are invalid.
    """

    def to_internal_value(self, data: Any) -> int:
        if _DIGITS.fullmatch(str(data)) is None:
            self.fail("invalid")
        return super().to_internal_value(data)


class ObjectField(serializers.DictField):
    """A JSON object, kept unchanged."""

    default_error_messages = {"not_an_object": _("Not a JSON object.")}

    def to_internal_value(self, data: object) -> dict[str, object]:
        if not isinstance(data, dict):
            self.fail("not_an_object")
        return data


@extend_schema_field(
    {"type": "string", "format": "date-time", "example": "2026-01-31T09:26:53.589793Z"}
)
class TimestampField(serializers.DateTimeField):
    """A time with an offset, as in RFC 3339.

    It is rendered by ``rfc_3339_text``, whatever the host's settings are.
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
        return rfc_3339_text(value)

    def to_internal_value(self, value: object) -> datetime:
        # The text of a value of another type does not match.
        text = str(value).upper()
        match = _RFC_3339.fullmatch(text)
        if match is None:
            self.fail("invalid")
        if not match["offset"]:
            self.fail("no_offset")
        return super().to_internal_value(text)


class ETagField(serializers.CharField):
    """The ETag of an object, from its ``updated_at``."""

    def __init__(self, **kwargs: Any) -> None:
        help_text = "The ETag of the object."
        super().__init__(source="updated_at", help_text=help_text, **kwargs)

    def to_representation(self, value: datetime) -> str:  # type: ignore[override]
        return etag(value)


class ETagOfRow(OfRow, ETagField):
    """The ETag of a row."""


class IfMatchField(TextField):
    """One ETag, for which it returns the ``updated_at`` of the object that has
    it, or None if no object has it.
    """

    def __init__(self) -> None:
        help_text = (
            "One ETag, of the object as you have read it. If it has changed since, or "
            "does not exist, the result of the item has the status 412. All items are "
            "compared with the objects as they were before the batch."
        )
        super().__init__(required=False, allow_blank=True, help_text=help_text)
        # Those of a text, which this field does not return.
        self.validators = []

    def to_internal_value(self, data: object) -> Any:
        return version_of(super().to_internal_value(data))


class StoredObjectField(ObjectField):
    """A JSONObjectField of a model, which is copied to the response without
    decoding it.
    """

    def get_attribute(self, instance: models.Model) -> Any:
        return stored_text(instance, str(self.source))

    def to_representation(self, value: str) -> orjson.Fragment:  # type: ignore[override]
        # Fragment refuses subclasses of str such as JSONText.
        return orjson.Fragment(value.encode())
