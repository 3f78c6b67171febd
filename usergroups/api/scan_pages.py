"""Pages of the rows that meet a condition which no index supports.

These are lists of user groups by name, of bookmarks by text or tag, and of
access tokens by expiry.
"""

from itertools import accumulate
from typing import Any, TypeVar

from django.db.models import Model, QuerySet
from django.db.models.expressions import Combinable
from django.db.models.lookups import GreaterThanOrEqual, LessThanOrEqual

from .cursors import Position
from .pagination import Page, number_within

M = TypeVar("M", bound=Model)

MAX_SCANNED = 5_000
"""The maximum number of rows that one call searches.

The next page continues the search.
"""

MAX_SCANNED_SIZE = 2_000_000
"""The maximum number of characters of text that one call searches."""


class ScanPage(Page[M]):
    """A page of the rows that meet ``condition``, which no index supports in
    the order of the list.

    ``size`` is the number of characters to search in a row. A call searches a
    limited number of rows and amount of text. The page may therefore have
    fewer rows than its limit, even none, although a next page exists.
    """

    def __init__(
        self,
        queryset: QuerySet[M],
        key: str,
        *,
        condition: Any,
        size: Combinable,
        **position: Any,
    ) -> None:
        self.condition = condition
        self.size = size
        super().__init__(queryset, key, **position)

    def select(
        self, ordered: QuerySet[M], limit: int
    ) -> tuple[list[M], Position | None]:
        """Return up to ``limit`` rows that meet the condition, among those
        that this call may scan.

        The next page begins after them or, if no more have been found, after
        the last row that this call may scan.
        """
        found = ordered.filter(self.condition)
        last_scanned = self._last_scanned(ordered)
        if last_scanned is not None:
            # PostgreSQL cannot use an index for the negation of a row
            # comparison, so do not exclude() the rows after the last one.
            up_to = LessThanOrEqual if self.ascending else GreaterThanOrEqual
            found = found.filter(self._compare(ordered, last_scanned, up_to))
        found = self._with_range(found, last_scanned)
        rows, after = super().select(found, limit)
        return rows, after or last_scanned

    def _with_range(
        self, rows: QuerySet[M], last_scanned: Position | None
    ) -> QuerySet[M]:
        """Filter again by the times of the cursor and of the last row to scan.

        PostgreSQL estimates the comparison of a row value independently of
        other bounds, as a large part of the table, and may then read all of
        it. Two bounds of a time are estimated as a range.
        """
        first, last = f"{self.time_field}__gte", f"{self.time_field}__lte"
        if not self.ascending:
            first, last = last, first
        if self.cursor is not None:
            rows = rows.filter(**{first: self.cursor.time})
        if last_scanned is not None:
            rows = rows.filter(**{last: last_scanned[0]})
        return rows

    def _last_scanned(self, ordered: QuerySet[M]) -> Position | None:
        """Return the position of the last row that this page may scan, or None
        if it may scan all of them.
        """
        # Fetch only the sizes first. Fetching 5,000 positions, too, would take
        # longer than a search for a common text.
        sizes_of_rows = ordered.annotate(size=self.size).values_list("size", flat=True)
        sizes = list(sizes_of_rows[: MAX_SCANNED + 1])
        totals = accumulate(sizes[:MAX_SCANNED])
        number = number_within(totals, MAX_SCANNED_SIZE)
        if number >= len(sizes):
            return None
        positions = ordered.values_list(self.time_field, self.key)
        # None if that row has been deleted meanwhile.
        return positions[number - 1 : number].first()
