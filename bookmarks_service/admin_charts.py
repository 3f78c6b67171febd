"""The charts of the admin's index page, which the server draws as SVG."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from typing import Any, NamedTuple

from django.contrib.humanize.templatetags.humanize import intcomma
from django.db.models import Count, Q, QuerySet
from django.db.models.functions import TruncDate
from django.utils import timezone
from django.utils.formats import date_format

from bookmarks.models import Bookmark

DAYS = 30  # the days of the chart of bookmarks, of which the last is today
WEEKS = 8  # the weeks of the chart of tokens, of which the first begins today
HEIGHT = 60  # of the highest bar, in pixels


class Bar(NamedTuple):
    """A number, and its bar in a chart."""

    label: str
    number: str
    y: int
    height: int


@dataclass
class Chart:
    """A bar chart."""

    title: str
    bars: list[Bar]
    total: str
    limit: str = ""
    """The number of rows that were counted, if there are more."""

    @property
    def first_label(self) -> str:
        return self.bars[0].label

    @property
    def last_label(self) -> str:
        return self.bars[-1].label


def draw(
    title: str, begins: Sequence[datetime], counts: Sequence[int], limit: str
) -> Chart:
    """Return a chart with a bar for each date of ``begins``, which has the
    number at the same place of ``counts``.
    """
    highest = max(*counts, 1)
    bars = []
    for begin, count in zip(begins, counts, strict=True):
        # Rounded up, so that the bar of a small number is visible.
        height = -(-count * HEIGHT // highest)
        label = date_format(begin, "MONTH_DAY_FORMAT")
        bars.append(Bar(label, intcomma(count), HEIGHT - height, height))
    return Chart(title, bars, intcomma(sum(counts)), limit)


def midnight_today() -> datetime:
    """Return the beginning of today in UTC."""
    return datetime.combine(timezone.now().astimezone(UTC), time.min, UTC)


def days_until_today() -> list[datetime]:
    """Return the beginning of each of the last days."""
    today = midnight_today()
    return [today - timedelta(days=days) for days in reversed(range(DAYS))]


def weeks_from_today() -> list[datetime]:
    """Return the beginning of each of the next weeks."""
    today = midnight_today()
    return [today + timedelta(weeks=weeks) for weeks in range(WEEKS)]


def bookmarks_by_day(rows: QuerySet[Bookmark]) -> list[int]:
    """Return the number of bookmarks that were created on each of the days."""
    days = days_until_today()
    recent = rows.order_by().filter(created_at__gte=days[0])
    by_day = recent.values_list(TruncDate("created_at", tzinfo=UTC))
    counts = dict(by_day.annotate(Count("pk")))
    return [counts.get(day.date(), 0) for day in days]


def tokens_by_week(rows: QuerySet[Any]) -> list[int]:
    """Return the number of active tokens that expire in each of the weeks."""
    counts = {}
    for number, begin in enumerate(weeks_from_today()):
        end = begin + timedelta(weeks=1)
        in_week = Q(expires_at__gte=begin, expires_at__lt=end)
        counts[f"week_{number}"] = Count("pk", filter=in_week)
    active: Any = rows.order_by()
    found = active.active().filter(expires_at__lt=end).aggregate(**counts)
    return list(found.values())
