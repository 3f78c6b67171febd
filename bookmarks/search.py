"""Lists of bookmarks that contain a text or were changed lately.

No index supports these conditions in the order of a list. In the worst case, PostgreSQL's STRPOS() also takes time in
proportion to the length of the text times the length of the query. A call therefore searches a limited amount of text.
"""

from collections.abc import Mapping
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Func, Q, QuerySet, TextField, Value
from django.db.models.expressions import Combinable
from django.db.models.functions import Length, StrIndex
from django.db.models.lookups import GreaterThan, GreaterThanOrEqual, LessThanOrEqual

from usergroups.contract.pagination import Page, Position, compare_positions

if TYPE_CHECKING:
    from .models import Bookmark

MAX_QUERY_LENGTH = 100  # characters
MAX_SCANNED = 5_000
"""The maximum number of bookmarks that one call searches. The next page continues the search."""
MAX_SCANNED_SIZE = 2_000_000  # characters of text that one call searches


class SearchPage(Page["Bookmark"]):
    """A page of the bookmarks that contain the text ``q`` in any letter case and were changed since ``updated_since``.

    It may have fewer bookmarks than its limit, even none, although a next page exists.
    """

    def __init__(self, bookmarks: "QuerySet[Bookmark]", filters: Mapping[str, Any], **position: Any) -> None:
        self.condition = Q()
        self.size: Combinable = Value(0)  # the number of characters to search in a bookmark
        if "updated_since" in filters:
            self.condition &= Q(updated_at__gte=filters["updated_since"])
        if "q" in filters:
            text = Lowercase(Value(filters["q"]))
            contain = (GreaterThan(StrIndex(Lowercase(name), text), 0) for name in ("url", "title"))
            self.condition &= Q(*contain, _connector=Q.OR)
            self.size = Length("url") + Length("title")
        super().__init__(bookmarks, "id", **position)

    def select(self, ordered: "QuerySet[Bookmark]", number: int) -> "tuple[list[Bookmark], Position | None]":
        found, last_scanned = ordered.filter(self.condition), self._last_scanned(ordered)
        if last_scanned:
            # Not exclude(), because PostgreSQL cannot use an index for the negation of a row comparison.
            until = LessThanOrEqual if self.ascending else GreaterThanOrEqual
            found = found.filter(compare_positions(ordered.model, self.key, last_scanned, until))
        return list(found[:number]), last_scanned

    def _last_scanned(self, ordered: "QuerySet[Bookmark]") -> Position | None:
        """Return the position of the last bookmark that this page may scan, or None if it may scan all of them."""
        # Fetch only the sizes first. Fetching 5,000 positions, too, would take longer than a search for a common text.
        sizes = list(ordered.annotate(size=self.size).values_list("size", flat=True)[: MAX_SCANNED + 1])
        # Scan at least one bookmark, however large, so that each page makes progress.
        number = max(1, sum(total <= MAX_SCANNED_SIZE for total in accumulate(sizes[:MAX_SCANNED])))
        if number >= len(sizes):
            return None
        return next(iter(ordered.values_list("created_at", self.key)[number - 1 : number]), None)


class Lowercase(Func):
    """Convert text to lower case. SQLite's own LOWER() changes only ASCII letters."""

    function = "LOWER"
    output_field = TextField()

    def as_sqlite(self, compiler: Any, connection: BaseDatabaseWrapper, **context: Any) -> Any:
        return self.as_sql(compiler, connection, function="bookmarks_lower", **context)


def create_lower_function(connection: BaseDatabaseWrapper, **kwargs: Any) -> None:
    """Create the SQL function that Lowercase uses, on a new connection to SQLite."""
    if connection.vendor == "sqlite":
        connection.connection.create_function("bookmarks_lower", 1, str.lower, deterministic=True)
