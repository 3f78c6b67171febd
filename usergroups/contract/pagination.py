"""Keyset pagination by time of creation.

Every page costs the same, because the query starts at the row whose position the cursor holds.
"""

from collections.abc import Callable
from datetime import datetime
from itertools import accumulate
from typing import Any, Generic, NamedTuple, TypeVar, cast

from django.db import models
from django.db.models import F, Field, Func, Model, Q, QuerySet, Value
from django.db.models.expressions import Combinable
from django.db.models.lookups import GreaterThan, GreaterThanOrEqual, LessThan, LessThanOrEqual
from django.utils import timezone
from rest_framework import serializers
from rest_framework.request import Request

from .cursors import Cursor, Position
from .fields import Envelope
from .links import link

M = TypeVar("M", bound=Model)

DEFAULT_LIMIT = 50
MAX_LIMIT = 200
MAX_PAGE_SIZE = 8 * 1024 * 1024  # characters


class Order(models.TextChoices):
    NEWEST = "newest"
    OLDEST = "oldest"


class PageQuery(serializers.Serializer[Any]):
    """The query parameters of a list."""

    # A subclass adds its ``cursor``.
    order = serializers.ChoiceField(
        choices=Order.values, default=Order.NEWEST, help_text="Whether the newest or the oldest objects come first."
    )
    limit = serializers.IntegerField(
        default=DEFAULT_LIMIT,
        min_value=1,
        help_text=f"The maximum number of items on the page. Values over {MAX_LIMIT} count as {MAX_LIMIT}.",
    )


def pop_position(query: dict[str, Any]) -> dict[str, Any]:
    """Remove the limit, the cursor and the order from a validated PageQuery, and return them for ``Page``."""
    return {name: query.pop(name) for name in ("limit", "cursor", "order") if name in query}


class PageEnvelope(Envelope):
    """A page of a list."""

    # A subclass adds the items.
    next = serializers.URLField(allow_null=True, help_text="The URL of the next page, or null.")
    previous = serializers.URLField(allow_null=True, help_text="The URL of the previous page, or null.")


class RowValue(Func):
    """An SQL row value. A comparison of row values can use an index over the same columns."""

    template = "(%(expressions)s)"
    output_field = Field()


def comes_after(model: type[Model], key: str, position: Position, lookup: Any = GreaterThan) -> Any:
    """Return the condition that a row comes after ``position``, or a comparison with it by another ``lookup``."""
    created_at, value = position
    field = cast("Field[Any, Any]", model._meta.get_field(key))
    return lookup(RowValue(F("created_at"), F(key)), RowValue(Value(created_at), Value(value, output_field=field)))


class Search(NamedTuple):
    """A condition that no index of the list supports, with limits on how much one page may scan."""

    condition: Q
    size: Combinable
    """The size of the text that is searched in a row."""
    max_rows: int
    max_size: int
    by_index: Callable[[QuerySet[Any], int], list[Any] | None] | None = None
    """Returns up to so many matches of a queryset, in its order, by an index, or None if it cannot do so quickly."""


class Page(Generic[M]):
    """Up to ``limit`` rows of ``queryset``, starting at ``cursor``. ``key`` names a field that is unique within it.

    The rows are ordered by (created_at, key), which never changes, the newest first unless ``order`` is "oldest". A
    client that follows ``next`` therefore gets each row that existed at the start exactly once, even if others insert
    rows meanwhile. In a list that begins with the oldest rows, the new rows would come last, and it might never end. It
    has no rows that were created after its first page; the cursor holds that time.

    With ``search``, another query finds the last row that one page may scan. The page may then have fewer rows than
    ``limit``, even none, although a next page exists, unless ``search.by_index`` finds the other rows.

    ``size`` is the size of a row in the response, in characters. The page ends before its rows exceed 8 MiB in total,
    but has at least one row. This takes another query.
    """

    def __init__(
        self,
        queryset: QuerySet[M],
        key: str,
        limit: int,
        cursor: Cursor | None = None,
        order: str = Order.NEWEST,
        *,
        search: Search | None = None,
        size: Combinable | None = None,
    ) -> None:
        self.key, queryset = key, queryset.using(queryset.db)  # A router may choose another database for each query.
        limit = min(limit, MAX_LIMIT)
        self.backwards = cursor is not None and cursor.backwards
        self.ascending = self.backwards != (order == Order.OLDEST)
        self.until = None
        if order == Order.OLDEST:
            self.until = cursor.until if cursor and cursor.until else timezone.now()
            queryset = queryset.filter(created_at__lte=self.until)
        if cursor is not None:
            queryset = queryset.filter(self._after(queryset, cursor.created_at, cursor.key))
        ordered = queryset.order_by(*(["created_at", key] if self.ascending else ["-created_at", f"-{key}"]))
        last_scanned: Position | None = None
        if search is not None:
            unscanned, ordered = ordered, ordered.filter(search.condition)
            if last_scanned := self._last_scanned(unscanned, search):
                # Not exclude(), because PostgreSQL cannot use an index for the negation of a row comparison.
                until = LessThanOrEqual if self.ascending else GreaterThanOrEqual
                ordered = ordered.filter(comes_after(queryset.model, key, last_scanned, until))
                unscanned = unscanned.filter(self._after(queryset, *last_scanned))
        if size is not None:
            sizes = ordered.annotate(size=size).values_list("size", flat=True)[:limit]
            limit = max(1, sum(total <= MAX_PAGE_SIZE for total in accumulate(sizes)))
        rows = list(ordered[: limit + 1])
        if last_scanned and search and search.by_index and len(rows) <= limit:
            found = search.by_index(unscanned, limit + 1 - len(rows))
            if found is not None:
                rows, last_scanned = rows + found, None
        self.items = rows[:limit]
        ahead: Position | None = self._position(self.items[-1]) if len(rows) > limit else last_scanned
        behind: Position | None = self._position(self.items[0]) if self.items and cursor is not None else None
        if self.backwards:
            self.items.reverse()
        self.next, self.previous = (behind, ahead) if self.backwards else (ahead, behind)

    def links(self, request: Request) -> dict[str, str | None]:
        """Return the URLs of the next and the previous page, or None."""
        return {"next": self._link(request, self.next, False), "previous": self._link(request, self.previous, True)}

    def _last_scanned(self, ordered: QuerySet[M], search: Search) -> Position | None:
        """Return the position of the last row that may be scanned, or None if all remaining rows may be scanned."""
        # The size alone, because 5,000 positions would take longer than the search for a common text.
        sizes = list(ordered.annotate(size=search.size).values_list("size", flat=True)[: search.max_rows + 1])
        number = max(1, sum(total <= search.max_size for total in accumulate(sizes[: search.max_rows])))
        if number >= len(sizes):
            return None
        return next(iter(ordered.values_list("created_at", self.key)[number - 1 : number]), None)

    def _position(self, item: M) -> Position:
        return item.created_at, getattr(item, self.key)  # type: ignore[attr-defined]

    def _after(self, queryset: QuerySet[M], created_at: datetime, key: Any) -> Any:
        """Return the condition that a row comes after this ``created_at`` and key, in the direction of the page."""
        return comes_after(queryset.model, self.key, (created_at, key), GreaterThan if self.ascending else LessThan)

    def _link(self, request: Request, position: Position | None, backwards: bool) -> str | None:
        if position is None:
            return None
        return link(request, cursor=Cursor(*position, backwards, self.until).encode())
