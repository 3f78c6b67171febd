"""Cursors, which hold the position in a list at which a page starts."""

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, NamedTuple

from rest_framework import serializers

from . import strict_json

Position = tuple[datetime, Any]
"""The position of a row: its ``created_at`` and its key."""


class Cursor(NamedTuple):
    """The start of a page: after the row with this ``created_at`` and key, or before it if ``backwards``.

    The list has no rows that were created after ``until``.
    """

    created_at: datetime
    key: Any
    backwards: bool
    until: datetime | None = None

    def encode(self) -> str:
        key = self.key.hex() if isinstance(self.key, bytes) else str(self.key)
        values = [self.created_at.isoformat(), key, self.backwards]
        text = json.dumps(values if self.until is None else [*values, self.until.isoformat()])
        return urlsafe_b64encode(text.encode()).decode().rstrip("=")

    @classmethod
    def decode(cls, text: str, key_type: Callable[[str], Any]) -> "Cursor":
        """Return the cursor. Raises ValueError if the text is not a valid cursor."""
        match strict_json.loads(urlsafe_b64decode(text + "=" * (-len(text) % 4))):
            case [str(created_at), str(key), bool(backwards), *bound] if all(isinstance(each, str) for each in bound):
                times = [datetime.fromisoformat(each) for each in (created_at, *bound)]
                if len(bound) <= 1 and all(time.tzinfo == UTC for time in times):
                    return cls(times[0], key_type(key), backwards, *times[1:])
        raise ValueError("Not a cursor.")


class CursorField(serializers.CharField):
    """An encoded cursor. ``key_type`` converts the key from text, and raises ValueError if it is invalid."""

    default_error_messages = {"invalid": "Not a cursor of this list."}

    def __init__(self, key_type: Callable[[str], Any], **kwargs: Any) -> None:
        self.key_type = key_type
        help_text = "The `cursor` parameter of a page's `next` or `previous` URL."
        super().__init__(required=False, help_text=help_text, **kwargs)

    def to_internal_value(self, data: str) -> Any:
        try:
            return Cursor.decode(data, self.key_type)
        except ValueError:
            self.fail("invalid")
