"""The cursors of lists, and the query parameters that select a page."""

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, NamedTuple

from django.db import models
from rest_framework import serializers
from rest_framework.exceptions import ErrorDetail

from . import strict_json

DEFAULT_LIMIT = 50


EARLIEST, LATEST = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)


MAX_LIMIT = 200


Position = tuple[datetime, Any]
"""The position of a row: the value of its time field, and its key."""


CREATED, UPDATED = "created_at", "updated_at"
"""The time fields, by which lists are ordered."""


class Cursor(NamedTuple):
    """The start of a page: after the row with this time and key, or before it
    if ``backwards``.

    The list is ordered by ``time_field``, and has no rows whose time is after
    ``until``.
    """

    time: datetime
    key: Any
    backwards: bool
    until: datetime | None = None
    time_field: str = CREATED

    def encode(self) -> str:
        key = self.key.hex() if isinstance(self.key, bytes) else str(self.key)
        values = [self.time_field, self.time.isoformat(), key, self.backwards]
        text = json.dumps(
            values if self.until is None else [*values, self.until.isoformat()]
        )
        return urlsafe_b64encode(text.encode()).decode().rstrip("=")

    @classmethod
    def decode(cls, text: str, key_type: Callable[[str], Any]) -> "Cursor":
        """Return the cursor, with its key converted by ``key_type``.

        Raises ValueError if the text is invalid.
        """
        match strict_json.loads(urlsafe_b64decode(text + "=" * (-len(text) % 4))):
            case [
                str(time_field),
                str(time),
                str(key),
                bool(backwards),
                *until,
            ] if all(isinstance(each, str) for each in until):
                times = [datetime.fromisoformat(each) for each in (time, *until)]
                if len(until) <= 1 and all(each.tzinfo == UTC for each in times):
                    bound = times[1] if until else None
                    return cls(times[0], key_type(key), backwards, bound, time_field)
        raise ValueError("Not a cursor.")


NOT_A_CURSOR = "Not a cursor of this list."


class CursorField(serializers.CharField):
    """An encoded cursor.

    ``key_type`` converts the key from text, and raises ValueError if it is
    invalid.
    """

    default_error_messages = {"invalid": NOT_A_CURSOR}

    def __init__(self, key_type: Callable[[str], Any], **kwargs: Any) -> None:
        self.key_type = key_type
        help_text = "The `cursor` parameter of a page's `next` or `previous` URL."
        super().__init__(required=False, help_text=help_text, **kwargs)

    def to_internal_value(self, data: str) -> Any:
        try:
            return Cursor.decode(data, self.key_type)
        except ValueError:
            self.fail("invalid")


class Order(models.TextChoices):
    NEWEST = "newest"
    OLDEST = "oldest"


class PageQuery(serializers.Serializer[Any]):
    """The query parameters of a list."""

    # A subclass adds its ``cursor``.
    order = serializers.ChoiceField(
        choices=Order.values,
        default=Order.NEWEST,
        help_text="Whether the newest or the oldest objects come first.",
    )
    limit = serializers.IntegerField(
        default=DEFAULT_LIMIT,
        min_value=1,
        help_text=(
            f"The maximum number of items on the page. Values over {MAX_LIMIT} count "
            f"as {MAX_LIMIT}."
        ),
    )

    def time_field(self, query: dict[str, Any]) -> str:
        """Return the field by which the list is ordered."""
        return CREATED

    def validate(self, query: dict[str, Any]) -> dict[str, Any]:
        """Refuse a cursor of another order, and add the ``time_field``."""
        query["time_field"] = self.time_field(query)
        cursor = query.get("cursor")
        if cursor is not None and cursor.time_field != query["time_field"]:
            raise serializers.ValidationError(
                {"cursor": [ErrorDetail(NOT_A_CURSOR, "invalid")]}
            )
        return query


def pop_paging(query: dict[str, Any]) -> dict[str, Any]:
    """Remove the parameters of paging from a validated PageQuery, and return
    them for ``Page``.
    """
    names = ("limit", "cursor", "order", "time_field")
    return {name: query.pop(name) for name in names if name in query}
