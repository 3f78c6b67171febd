"""The dates that programs write into files of bookmarks."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

NUMBER = re.compile(r"\d{1,17}(\.\d+)?", re.ASCII)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
EARLIEST = 10**8  # seconds since 1970
WEBKIT_EPOCH = datetime(1601, 1, 1, tzinfo=UTC)


def parse(value: Any) -> datetime | None:
    """Return the time that a value of a file stands for, in UTC, or None if it stands for no time in the past.

    The value is a datetime, text as in ISO 8601, also with slashes in the date or UTC at the end, or the number of
    seconds, milliseconds or microseconds since 1970 as a number or as text. Chrome's own files count microseconds since
    1601. A time without an offset is in UTC. A number stands for no time before 1973: 0 means that there is none, and
    other small numbers are mistakes.
    """
    try:
        if isinstance(value, str):
            time = _from_number(value) if value.isdecimal() else _from_text(value)
        else:
            time = value if isinstance(value, datetime) else _from_number(value)
        if time.tzinfo is not UTC:
            time = time.astimezone(UTC) if time.tzinfo else time.replace(tzinfo=UTC)
    except (TypeError, ValueError, OverflowError):
        return None
    return time if time <= datetime.now(UTC) else None


def _from_text(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        text = text.strip()
        if NUMBER.fullmatch(text):
            return _from_number(text)
        return datetime.fromisoformat(text.removesuffix(" UTC").replace("/", "-"))


def _from_number(value: Any) -> datetime:
    """Convert the number of seconds or of smaller units, by its size. Raises ValueError if it is too small."""
    try:
        number: float = int(value) if isinstance(value, str) else value
    except ValueError:
        number = float(value)
    if not number >= EARLIEST:
        raise ValueError
    if number < 10**11:
        return datetime.fromtimestamp(number, UTC)
    if number < 10**14:
        return EPOCH + timedelta(milliseconds=number)
    return (EPOCH if number < 10**16 else WEBKIT_EPOCH) + timedelta(microseconds=number)
