"""The HTML of cells, such as badges and times."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone
from django.utils.formats import date_format, localize
from django.utils.html import format_html, format_html_join
from django.utils.timesince import timesince
from django.utils.timezone import localtime
from django.utils.translation import gettext, npgettext_lazy

MAX_DAYS = 120
"""The number of days up to which a time is so many days away, and not weeks or
months.
"""

# Declined as German requires it after "vor" and "in". Django's are not.
UNITS: Any = {
    "year": npgettext_lazy("distance", "%(num)d year", "%(num)d years", "num"),
    "month": npgettext_lazy("distance", "%(num)d month", "%(num)d months", "num"),
    "day": npgettext_lazy("distance", "%(num)d day", "%(num)d days", "num"),
    "hour": npgettext_lazy("distance", "%(num)d hour", "%(num)d hours", "num"),
    "minute": npgettext_lazy("distance", "%(num)d minute", "%(num)d minutes", "num"),
}


def two_lines(first: str, second: str) -> str:
    """Return the content of a cell with a secondary line in small type."""
    if not second:
        return first
    return format_html('{} <small class="second-line">{}</small>', first, second)


def one_line(parts: Iterable[object]) -> str:
    """Return these parts on one line, without the empty ones."""
    return format_html_join(" · ", "{}", [[part] for part in parts if part])


def badge(kind: str, text: str) -> str:
    """Return a badge, whose color depends on ``kind``."""
    return format_html('<span class="badge {}">{}</span>', kind, text)


def time_element(at: datetime, text: str) -> str:
    """Return HTML with the exact time as a tooltip."""
    exact = localize(localtime(at))
    machine_readable = at.isoformat()
    return format_html(
        '<time datetime="{}" title="{}">{}</time>', machine_readable, exact, text
    )


def short_date(at: datetime) -> str:
    """Return the content of a cell with a date."""
    text = date_format(localtime(at), "DATE_FORMAT")
    return time_element(at, text)


def relative_time(at: datetime | None) -> str | None:
    """Return HTML such as "in 3 days", "2 hours ago" or "just now", in the
    largest unit only, but in days up to MAX_DAYS.
    """
    if at is None:
        return None
    now = timezone.now()
    if now - timedelta(minutes=1) < at <= now:
        return time_element(at, gettext("just now"))
    text = gettext("%(time)s ago") if at <= now else gettext("in %(time)s")
    days = round(abs(at - now) / timedelta(days=1))
    if 2 <= days <= MAX_DAYS:
        distance = UNITS["day"] % {"num": days}
    else:
        distance = timesince(min(at, now), max(at, now), time_strings=UNITS, depth=1)
    return time_element(at, text % {"time": distance})
