"""The dates that programs write into files of bookmarks."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

NUMBER = re.compile(r"\d{1,17}(\.\d+)?", re.ASCII)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
WEBKIT_EPOCH = datetime(1601, 1, 1, tzinfo=UTC)


def parse(value: Any) -> datetime | None:
    """Return the time that a value of a file stands for, in UTC, or None if it stands for no time in the past.

    The value is a datetime, text as in ISO 8601, or the number of seconds, milliseconds or microseconds since 1970 as
    a number or as text. Chrome's own files count microseconds since 1601. A time without an offset is in UTC. 0 stands
    for no time.
    """
    try:
        if isinstance(value, datetime):
            time = value
        elif isinstance(value, str) and not NUMBER.fullmatch(value):
            time = datetime.fromisoformat(value.strip())
        else:
            time = _from_number(float(value))
        time = time.astimezone(UTC) if time.tzinfo else time.replace(tzinfo=UTC)
    except (TypeError, ValueError, OverflowError):
        return None
    return time if time <= datetime.now(UTC) else None


def _from_number(number: float) -> datetime:
    """Convert the number of seconds or of smaller units, whichever the size suggests. Raises ValueError for 0."""
    if not number > 0:
        raise ValueError
    if number < 10**11:
        return EPOCH + timedelta(seconds=number)
    if number < 10**14:
        return EPOCH + timedelta(milliseconds=number)
    return (EPOCH if number < 10**16 else WEBKIT_EPOCH) + timedelta(microseconds=number)
