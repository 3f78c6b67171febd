"""Parse the dates of files, which programs write in several forms."""

import re
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Any

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# The start of Chrome's dates.
WEBKIT_EPOCH = datetime(1601, 1, 1, tzinfo=UTC)

# The smallest number that is a date, in seconds since 1970: in March 1973.
EARLIEST = 10**8

# Values that mean that there is no date.
NO_DATES = (None, "", 0, "0")

# Such as "November 14, 2023 10:13 PM", which Notion writes.
NOTION_DATE = re.compile(r"[A-Z][a-z]+ \d{1,2}, \d{4}(?P<time> \d{1,2}:\d\d [AP]M)?")


def parse_date(value: Any) -> datetime | None:
    """Convert a value of a file to a time in UTC.

    The value is one of these:

    - a text as in ISO 8601, also with slashes in the date or UTC at the end;
    - a text as Notion writes it, ``November 14, 2023 10:13 PM``;
    - a text as in mail (RFC 2822), ``Tue, 14 Nov 2023 22:13:20 GMT``;
    - a number, also as text, of seconds, milliseconds or microseconds since
      1970, or of microseconds since 1601, as in Chrome's own files.

    A text without an offset is in UTC. Return None if the value is invalid or
    in the future. Numbers below EARLIEST are invalid: 0 means that there is no
    date, and other small numbers are mistakes.
    """
    try:
        time = _parse_text(value) if isinstance(value, str) else _parse_number(value)
    except (TypeError, ValueError, OverflowError):
        return None
    if time > datetime.now(UTC):
        return None
    return time


def _parse_text(text: str) -> datetime:
    text = text.strip()
    # Try this first, because fromisoformat() reads some numbers as dates
    # without hyphens.
    if text.isdecimal():
        return _parse_number(int(text))
    if text[:1].isalpha():
        time = _parse_words(text)
    else:
        try:
            iso = text.removesuffix(" UTC").replace("/", "-")
            time = datetime.fromisoformat(iso)
        except ValueError:
            return _parse_number(float(text))
    if time.tzinfo is None:
        return time.replace(tzinfo=UTC)
    return time.astimezone(UTC)


def _parse_words(text: str) -> datetime:
    """Convert a text that begins with the name of a month or of a day."""
    notion = NOTION_DATE.fullmatch(text)
    if notion is None:
        return parsedate_to_datetime(text)
    time_format = "%B %d, %Y %I:%M %p" if notion["time"] else "%B %d, %Y"
    return datetime.strptime(text, time_format)  # noqa: DTZ007


def _parse_number(number: float) -> datetime:
    """Convert a number to a time. Its size determines its unit.

    Raises ValueError if it is too small, and OverflowError if it is too large.
    """
    # NaN is not greater than anything.
    if not number >= EARLIEST:
        raise ValueError
    # The numbers of dates since March 1973 differ between these units.
    if number < 10**11:
        return datetime.fromtimestamp(number, UTC)
    if number < 10**14:
        return EPOCH + timedelta(milliseconds=number)
    if number < 10**16:
        return EPOCH + timedelta(microseconds=number)
    return WEBKIT_EPOCH + timedelta(microseconds=number)
