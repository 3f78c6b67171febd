"""Lists that cost for many rows what they cost for a few."""

from typing import TYPE_CHECKING, Any

from django.core import paginator
from django.db import models
from django.utils.functional import cached_property

if TYPE_CHECKING:
    Paginator = paginator.Paginator[Any]
else:
    Paginator = paginator.Paginator

MAX_LISTED = 10_000


def counted(rows: models.QuerySet[Any]) -> str:
    """Return how many rows there are, as a text; no more are counted than are listed."""
    number = _bounded_count(rows)
    return f"{number:,}" if number < MAX_LISTED else f"{MAX_LISTED:,}+"


class BoundedPaginator(Paginator):
    """Lists the first 10,000 rows, and counts no further."""

    @cached_property
    def count(self) -> int:
        return _bounded_count(self.object_list)

    @property
    def limit(self) -> str:
        """What to tell where there may be more rows; empty where there are not."""
        return f"{MAX_LISTED:,}" if self.count == MAX_LISTED else ""


def _bounded_count(rows: Any) -> int:
    return rows.order_by()[:MAX_LISTED].count()  # type: ignore[no-any-return]
