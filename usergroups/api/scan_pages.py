"""Pages of the rows that meet a condition which no index supports.

These are lists of user groups by name, of bookmarks by text or tag, and of
access tokens by expiry.
"""

from typing import Any, TypeVar

from django.db.models import Model, QuerySet
from django.db.models.expressions import Combinable
from django.db.models.lookups import GreaterThanOrEqual, LessThanOrEqual

from usergroups.db.bounded_reads import compare_positions, number_to_read

from .cursors import Position
from .pagination import Page

M = TypeVar("M", bound=Model)

MAX_SCANNED = 5_000
"""The maximum number of rows that one call searches.

The next page continues the search.
"""

MAX_SCANNED_SIZE = 2_000_000
"""The maximum number of bytes of text that one call searches."""


class ScanPage(Page[M]):
    """A page of the rows that meet ``condition``, which no index supports in
    the order of the list.

    ``searched_size`` is the number of bytes to search in a row. A call searches a
    limited number of rows and amount of text. The page may therefore have
    fewer rows than its limit, even none, although a next page exists.
    """

    def __init__(
        self,
        queryset: QuerySet[M],
        key: str,
        *,
        condition: Any,
        searched_size: Combinable,
        **position: Any,
    ) -> None:
        self.condition = condition
        self.searched_size = searched_size
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
            names = (self.time_field, self.key)
            found = found.filter(
                compare_positions(ordered.model, names, last_scanned, up_to)
            )
        rows, after = super().select(found, limit)
        return rows, after or last_scanned

    def _last_scanned(self, ordered: QuerySet[M]) -> Position | None:
        """Return the position of the last row that this page may scan, or None
        if it may scan all of them.
        """
        # Fetch only the sizes first. Fetching 5,000 positions, too, would take
        # longer than a search for a common text.
        number, has_more = number_to_read(
            ordered, self.searched_size, MAX_SCANNED, MAX_SCANNED_SIZE
        )
        if not has_more:
            return None
        positions = ordered.values_list(self.time_field, self.key)
        # None if that row has been deleted meanwhile.
        return positions[number - 1 : number].first()
