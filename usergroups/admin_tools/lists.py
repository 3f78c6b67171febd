"""Pagination and counts whose cost does not grow with the table."""

from typing import TYPE_CHECKING, Any

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
    number = _bounded_count(rows)
    return f"{number:,}" if number < MAX_LISTED else f"{MAX_LISTED:,}+"


class BoundedPaginator(Paginator):
    """A paginator that lists the first 10,000 rows and does not count the others."""

    @cached_property
    def count(self) -> int:
        return _bounded_count(self.object_list)

    @property
    def limit(self) -> str:
        """The maximum number of rows as text if there may be more rows, otherwise empty."""
        return f"{MAX_LISTED:,}" if self.count == MAX_LISTED else ""


def _bounded_count(rows: Any) -> int:
    return rows.order_by()[:MAX_LISTED].count()  # type: ignore[no-any-return]
