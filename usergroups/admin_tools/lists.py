"""Pagination and counts whose cost does not grow with the table."""

from typing import TYPE_CHECKING, Any

from django.contrib.humanize.templatetags.humanize import intcomma
from django.core import paginator
from django.db import models
from django.utils.functional import cached_property

if TYPE_CHECKING:
    Paginator = paginator.Paginator[Any]
else:
    Paginator = paginator.Paginator

MAX_LISTED = 10_000


def display_count(rows: models.QuerySet[Any]) -> str:
    """Return the number of rows as text, or ``10,000+`` without counting further."""
    return display_number(_bounded_count(rows))


def display_number(number: int) -> str:
    """Return a number that was counted up to 10,000 as text."""
    return intcomma(number) if number < MAX_LISTED else f"{intcomma(MAX_LISTED)}+"


class BoundedCount(models.Subquery):
    """The number of the rows, up to 10,000, as a value in another query."""

    template = "(SELECT COUNT(*) FROM (%(subquery)s) AS counted)"
    output_field = models.IntegerField()

    def __init__(self, rows: models.QuerySet[Any]) -> None:
        super().__init__(rows.order_by().values("pk")[:MAX_LISTED])


def display_rows(number: int, opts: Any) -> str:
    """Return text such as "1 bookmark" or "2,500 bookmarks" for rows of the model with these options."""
    return f"{intcomma(number)} {opts.verbose_name if number == 1 else opts.verbose_name_plural}"


class BoundedPaginator(Paginator):
    """A paginator that lists the first 10,000 rows and does not count the others."""

    @cached_property
    def count(self) -> int:
        return _bounded_count(self.object_list)

    @property
    def limit(self) -> str:
        """The maximum number of rows as text if there may be more rows, otherwise empty."""
        return intcomma(MAX_LISTED) if self.count == MAX_LISTED else ""


def _bounded_count(rows: Any) -> int:
    return rows.order_by()[:MAX_LISTED].count()  # type: ignore[no-any-return]
