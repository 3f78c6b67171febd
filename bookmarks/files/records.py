"""A bookmark as a file has it: not yet checked when read, with its collection by name."""

from datetime import datetime
from typing import Any, NamedTuple


class Record(NamedTuple):
    line: int
    """Where in the file it begins."""
    url: Any
    title: Any = ""
    collection: Any = None
    created_at: Any = None
    """A datetime, or RFC 3339's text; None: now."""


class Unreadable(NamedTuple):
    line: int
    reason: str


def timestamp(value: datetime) -> str:
    return value.isoformat().replace("+00:00", "Z")
