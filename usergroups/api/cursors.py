"""The cursors of lists.

A Page encodes them for the URLs of the pages next to it, and a CursorField of
its PageQuery decodes them.
"""

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, NamedTuple
from uuid import UUID

from rest_framework import serializers

from . import strict_json

CREATED = "created_at"
"""The time field by which lists are ordered."""

UPDATED = "updated_at"
"""The time field by which lists of changes are ordered."""

DELETED = "deleted_at"
"""The time field by which lists of deletions are ordered."""

EARLIEST = datetime.min.replace(tzinfo=UTC)
LATEST = datetime.max.replace(tzinfo=UTC)

NOT_A_CURSOR = "Not a cursor of this list."

Key = str | bytes | UUID
"""The value of the unique field that orders rows with the same time."""

Position = tuple[datetime, Key]
"""The position of a row: the value of its time field, and its key."""


class Cursor(NamedTuple):
    """The position at which a page begins.

    The page has the rows after the one with this time and key or, if
    ``backwards``, the rows before it. The list has no rows whose time is after
    ``until``. ``list_digest`` is that of the PageQuery to which the cursor
    belongs.
    """

    time: datetime
    key: Key
    backwards: bool
    until: datetime | None
    list_digest: str

    def encode(self) -> str:
        """Return the cursor as text for a URL."""
        until = None
        if self.until is not None:
            until = text_of_time(self.until)
        values = [
            self.list_digest,
            text_of_time(self.time),
            text_of_key(self.key),
            self.backwards,
            until,
        ]
        text = json.dumps(values)
        # ``decode`` adds the padding again.
        return urlsafe_b64encode(text.encode()).decode().rstrip("=")

    @classmethod
    def decode(cls, text: str, key_type: Callable[[str], Key]) -> "Cursor":
        """Return the cursor, with its key converted by ``key_type``.

        Raises ValueError if the text is not one that ``encode`` returns.
        """
        # Base64 has blocks of four characters.
        padding = "=" * (-len(text) % 4)
        values = strict_json.loads(urlsafe_b64decode(text + padding))
        match values:
            case [str(list_digest), str(time), str(key), bool(backwards), until]:
                if until is not None:
                    until = parse_time(until)
                cursor = cls(
                    parse_time(time), key_type(key), backwards, until, list_digest
                )
                # Base64, JSON, times and keys have other spellings.
                if cursor.encode() == text:
                    return cursor
        raise ValueError("Not a cursor.")


def text_of_time(time: datetime) -> str:
    """Return the time in UTC, as ``parse_time`` reads it."""
    # The database connection may have another time zone.
    return time.astimezone(UTC).isoformat()


def text_of_key(key: Key) -> str:
    """Return the text of a key, that of bytes in hexadecimal."""
    if isinstance(key, bytes):
        return key.hex()
    return str(key)


def parse_time(text: object) -> datetime:
    """Return the time. Raises ValueError if the text is not a time in UTC."""
    time = datetime.fromisoformat(str(text))
    if time.tzinfo != UTC:
        raise ValueError("Not a time in UTC.")
    return time


class CursorField(serializers.CharField):
    """An encoded cursor.

    ``key_type`` converts the key from text, and raises ValueError if it is
    invalid.
    """

    default_error_messages = {"invalid": NOT_A_CURSOR}

    def __init__(self, key_type: Callable[[str], Key], **kwargs: Any) -> None:
        self.key_type = key_type
        help_text = (
            "The `cursor` parameter of a page's `next` or `previous` URL. It belongs "
            "to the list, the order and the filters of that page."
        )
        super().__init__(required=False, help_text=help_text, **kwargs)

    def to_internal_value(self, data: str) -> Cursor:  # type: ignore[override]
        try:
            return Cursor.decode(data, self.key_type)
        except ValueError:
            self.fail("invalid")
