"""Keyset pagination by time of creation or of the last change.

Every page costs the same, because the query starts at the row whose position
the cursor holds. KeysetPagination is the paginator of views, and makes a Page.
"""

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any, Generic, TypeVar

from django.db.models import Model, QuerySet
from django.db.models.expressions import Combinable
from django.db.models.lookups import GreaterThan, LessThan
from django.utils import timezone
from django.utils.encoding import escape_uri_path
from django.utils.http import urlencode
from rest_framework import serializers
from rest_framework.pagination import BasePagination
from rest_framework.request import Request

from usergroups.db.bounded_reads import compare_positions, number_to_read

from .cursors import CREATED, EARLIEST, LATEST, Cursor, Position
from .envelopes import Envelope
from .page_queries import PAGING, SINCE, Order

M = TypeVar("M", bound=Model)

MAX_PAGE_SIZE = 2 * 1024 * 1024
"""The maximum number of bytes in the large fields of a page."""


class PageEnvelope(Envelope):
    """A page of a list."""

    # A subclass adds the items.
    next = serializers.URLField(
        allow_null=True, help_text="The URL of the next page, or null."
    )
    previous = serializers.URLField(
        allow_null=True, help_text="The URL of the previous page, or null."
    )


class Page(Generic[M]):
    """Up to ``limit`` rows of ``queryset``, starting at ``cursor``.

    ``key`` names a field whose values are unique in the queryset.

    The rows are ordered by (time_field, key), the newest first unless
    ``order`` is "oldest". A client that follows ``next`` therefore gets each
    row that existed at the start exactly once, even if others insert rows
    meanwhile, unless the row's time is changed. A list that begins with the
    oldest rows might never end, because new rows come last. It therefore omits
    rows whose time is after that of its first page, which the cursor holds.

    Rows whose time is before ``since`` are omitted as well.

    ``list_digest`` is that of the PageQuery. The cursors of the adjacent pages
    hold it.

    ``size`` is the number of bytes of the large fields of a row. The page ends
    before they exceed MAX_PAGE_SIZE in total, but has at least one row. Without
    it, 200 rows must be smaller than that.
    """

    def __init__(
        self,
        queryset: QuerySet[M],
        key: str,
        limit: int,
        cursor: Cursor | None = None,
        order: str = Order.NEWEST,
        *,
        list_digest: str,
        time_field: str = CREATED,
        since: datetime | None = None,
        size: Combinable | None = None,
    ) -> None:
        self.key = key
        self.list_digest = list_digest
        self.time_field = time_field
        self.since = since
        self.size = size
        self.cursor = cursor
        self.backwards = cursor is not None and cursor.backwards
        oldest_first = order == Order.OLDEST
        # A page before the cursor is read in the opposite order.
        self.ascending = oldest_first != self.backwards
        self.until = None
        if oldest_first:
            self.until = self._time_of_first_page()
        ordered = self._ordered(queryset)
        # The positions before and after the page, in the order of the query.
        self.items, after = self.select(ordered, limit)
        before = self._position_before_page(after)
        if self.backwards:
            self.items.reverse()
            self.next = before
            self.previous = after
        else:
            self.next = after
            self.previous = before

    def _time_of_first_page(self) -> datetime:
        """Return the time of the request for the first page, which the cursor
        of a later page holds.
        """
        if self.cursor is not None and self.cursor.until is not None:
            return self.cursor.until
        return timezone.now()

    def _ordered(self, queryset: QuerySet[M]) -> QuerySet[M]:
        """Return the rows of the list that come after the cursor, ordered."""
        # Read all queries from one database. Otherwise, a router might choose
        # another one for each.
        rows = queryset.using(queryset.db)
        if self.since is not None:
            rows = rows.filter(**{f"{self.time_field}__gte": self.since})
        if self.until is not None:
            rows = rows.filter(**{f"{self.time_field}__lte": self.until})
        if self.cursor is not None:
            position = (self.cursor.time, self.cursor.key)
            comes_after = GreaterThan if self.ascending else LessThan
            names = (self.time_field, self.key)
            rows = rows.filter(
                compare_positions(rows.model, names, position, comes_after)
            )
        if self.ascending:
            return rows.order_by(self.time_field, self.key)
        return rows.order_by(f"-{self.time_field}", f"-{self.key}")

    def _position_before_page(self, after: Position | None) -> Position | None:
        """Return the position at which the page before this one begins, in the
        opposite order, or None if there is no such page.

        ``after`` is the position at which the next page begins.
        """
        if self.cursor is None:
            return None
        if self.items:
            return self._position(self.items[0])
        if after is not None:
            return after
        # The page is empty, because no row comes after the cursor. The page
        # before it therefore begins at the end of the list.
        last_time = LATEST if self.ascending else EARLIEST
        return last_time, self.cursor.key

    def select(
        self, ordered: QuerySet[M], limit: int
    ) -> tuple[list[M], Position | None]:
        """Return the rows of the page, at most ``limit``, and the position at
        which the next page begins, or None if no row follows.

        A subclass that searches only some rows may return fewer, with the
        position of the last row that it has searched.
        """
        if self.size is None:
            # One row more shows that more rows follow the page.
            rows = list(ordered[: limit + 1])
            items = rows[:limit]
            has_more = len(rows) > limit
        else:
            number, has_more = number_to_read(ordered, self.size, limit, MAX_PAGE_SIZE)
            # without a statement if there are none
            items = list(ordered[:number]) if number else []
        if not (items and has_more):
            return items, None
        return items, self._position(items[-1])

    def links(self, request: Request) -> dict[str, str | None]:
        """Return the URLs of the next and the previous page, or None."""
        return {
            "next": self._link(request, self.next, False),
            "previous": self._link(request, self.previous, True),
        }

    def _position(self, item: M) -> Position:
        return getattr(item, self.time_field), getattr(item, self.key)

    def _link(
        self, request: Request, position: Position | None, backwards: bool
    ) -> str | None:
        """Return the absolute URL of the request with a cursor at this
        position, or None without a position.
        """
        if position is None:
            return None
        cursor = Cursor(*position, backwards, self.until, self.list_digest)
        parameters = request.query_params.copy()
        parameters["cursor"] = cursor.encode()
        query = urlencode(parameters, doseq=True)
        return request.build_absolute_uri(f"{escape_uri_path(request.path)}?{query}")


class KeysetPagination(BasePagination):
    """Selects the page that the view's ``query`` asks for.

    The query is that of a PageQuery. A host's subclass may set the limits.
    """

    default_limit = 50
    max_limit = 200
    key = "id"
    """A field whose values are unique in the list."""
    size: Combinable | None = None
    """The size of a row, if rows may be large: a page ends at 2 MiB."""

    def searched(self, query: Mapping[str, Any]) -> Collection[str]:
        """Return the names of the filters that ``get_page`` applies, because
        no index supports them in the order of the list.
        """
        return ()

    def parameters(self, query: Mapping[str, Any]) -> Collection[str]:
        """Return the names of the parameters that the paginator takes."""
        return {*PAGING, SINCE[query["time_field"]], *self.searched(query)}

    def paginate_queryset(  # type: ignore[override]
        self, queryset: QuerySet[M], request: Request, view: Any
    ) -> list[M]:
        query = view.query
        search = {}
        for name in self.searched(query):
            if name in query:
                search[name] = query[name]
        limit = query.get("limit", self.default_limit)
        self.request = request
        self.page = self.get_page(
            queryset,
            search,
            limit=min(limit, self.max_limit),
            cursor=query.get("cursor"),
            order=Order(query["order"]),
            time_field=query["time_field"],
            list_digest=query["list_digest"],
            since=query.get(SINCE[query["time_field"]]),
        )
        return self.page.items

    def get_page(
        self, queryset: QuerySet[M], search: Mapping[str, Any], **paging: Any
    ) -> Page[M]:
        """Return the page, with the rows that match ``search``, which has the
        values of ``searched()``. ``paging`` are arguments of the page.
        """
        return Page(queryset, self.key, size=self.size, **paging)

    def links(self) -> dict[str, str | None]:
        """Return the URLs of the next and the previous page, or None."""
        return self.page.links(self.request)
