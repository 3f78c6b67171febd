"""Keyset pagination by time of creation or of the last change.

Every page costs the same, because the query starts at the row whose position
the cursor holds. A list declares its parameters in a PageQuery. QueryFilter
filters by them, and KeysetPagination, the paginator of views, by those that no
index supports.
"""

import json
from collections.abc import Callable, Collection, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, ClassVar, NamedTuple, TypeVar
from uuid import UUID

from django.core.signing import BadSignature, Signer
from django.db import models
from django.db.models import Model, QuerySet, Value
from django.db.models.expressions import Combinable
from django.db.models.lookups import (
    GreaterThan,
    GreaterThanOrEqual,
    LessThan,
    LessThanOrEqual,
)
from django.utils import timezone
from rest_framework import serializers
from rest_framework.filters import BaseFilterBackend
from rest_framework.pagination import BasePagination
from rest_framework.request import Request
from rest_framework.utils.urls import replace_query_param

from usergroups.db.bounded_reads import Comparison, compare_positions, number_to_read

from .closed_doors import refuse_closed_doors
from .conf import MAX_PAGE_SIZE
from .fields import QueryIntegerField
from .serializers import Envelope, Examples

if TYPE_CHECKING:
    from .views import ListMixin

M = TypeVar("M", bound=Model)

CREATED = "created_at"
"""The time field by which lists are ordered."""

UPDATED = "updated_at"
"""The time field by which lists of changes are ordered."""

DELETED = "deleted_at"
"""The time field by which lists of deletions are ordered."""

EARLIEST = datetime.min.replace(tzinfo=UTC)
LATEST = datetime.max.replace(tzinfo=UTC)

Key = str | bytes | UUID
"""The value of the unique field that orders rows with the same time."""

Position = tuple[datetime, Key]
"""The position of a row: the value of its time field, and its key."""


def signer(identity: str) -> Signer:
    """Return the signer of the cursors of the list with this identity."""
    # In a URL, no character of a cursor is percent-encoded.
    return Signer(sep=".", salt=identity)


class Cursor(NamedTuple):
    """The position at which a page begins.

    The page has the rows after the one with this time and key or, if
    ``backwards``, the rows before it. The list has no rows whose time is after
    ``until``.
    """

    time: datetime
    key: Key
    backwards: bool
    until: datetime | None

    def encode(self, identity: str) -> str:
        """Return the cursor as text for a URL, signed for the list with this
        ``identity``.
        """
        key = self.key.hex() if isinstance(self.key, bytes) else str(self.key)
        until = self.until and self.until.isoformat()
        values = [self.time.isoformat(), key, self.backwards, until]
        return signer(identity).sign_object(values)

    @classmethod
    def decode(
        cls, text: str, identity: str, key_from_text: Callable[[str], Key]
    ) -> "Cursor":
        """Return the cursor, with its key converted by ``key_from_text``.

        Raises ValidationError if the text is not a cursor of this list.
        """
        try:
            time, key, backwards, until = signer(identity).unsign_object(text)
        except BadSignature:
            detail = "Not a cursor of this list."
            raise serializers.ValidationError({"cursor": [detail]}) from None
        until = until and datetime.fromisoformat(until)
        return cls(datetime.fromisoformat(time), key_from_text(key), backwards, until)


PAGING = frozenset({"limit", "cursor", "order"})
"""What a validated PageQuery has besides filters."""

LOOKUPS = {
    "created_since": "created_at__gte",
    "updated_since": "updated_at__gte",
    "since": "deleted_at__gte",
    "expires_before": "expires_at__lt",
}
"""The lookups of filters whose names are not those of fields."""


class Order(models.TextChoices):
    NEWEST = "newest"
    OLDEST = "oldest"


class PageQuery(serializers.Serializer[None]):
    """The query parameters of a list. Each list has a subclass of its own."""

    examples: Examples = {"limit": 50, "order": "newest"}

    cursor = serializers.CharField(
        required=False,
        trim_whitespace=False,
        help_text=(
            "The `next_cursor` of a page, or the `cursor` parameter of its `next` or "
            "`previous` URL. It belongs to the owner, the list, the order and the "
            "filters of that page."
        ),
    )
    order = serializers.ChoiceField(
        choices=Order.values,
        default=Order.NEWEST,
        help_text="Whether the newest or the oldest objects come first.",
    )
    # The paginator describes it, with its default.
    limit = QueryIntegerField(required=False, min_value=1)

    def condition(self, name: str, value: object) -> models.Q:
        """Return the condition of a filter: by default, one of LOOKUPS, or that
        the field of this name has the value.
        """
        return models.Q(**{LOOKUPS.get(name, name): value})

    def time_field(self, query: Mapping[str, object]) -> str:
        """Return the field by which the list is ordered."""
        if "updated_since" in query:
            return UPDATED
        return CREATED


class PageEnvelope(Envelope):
    """A page of a list."""

    examples = {"next": None, "previous": None, "next_cursor": None}

    # A subclass adds the items.
    next = serializers.URLField(
        allow_null=True, help_text="The URL of the next page, or null."
    )
    previous = serializers.URLField(
        allow_null=True, help_text="The URL of the previous page, or null."
    )
    next_cursor = serializers.CharField(
        allow_null=True,
        help_text="The value of the parameter `cursor` for the next page, or null.",
    )


def identity_of(view: "ListMixin") -> str:
    """Return text that differs between owners, lists, orders and filters."""
    same_on_all_pages = {**view.validated_data, "cursor": None, "limit": None}
    name = type(view.list_query).__name__
    # Times are in UTC.
    identity = [name, view.owner_of_list, same_on_all_pages]
    return json.dumps(identity, default=_identifier, sort_keys=True)


def _identifier(value: object) -> str:
    """Return text that stands for a value in an identity."""
    # The text of a row contains names, which may change between two pages.
    if isinstance(value, Model):
        value = value.pk
    return str(value)


MAX_SCANNED = 5_000
"""The maximum number of rows that one call searches.

The next page continues the search.
"""

MAX_SCANNED_SIZE = 2_000_000
"""The maximum number of bytes of text that one call searches."""


class KeysetPagination(BasePagination):
    """Selects the page that the view's query, that of a PageQuery, asks for.

    The rows are ordered by (time_field, key), the newest first unless
    ``order`` is "oldest". A client that follows ``next`` therefore gets each
    row that existed at the start exactly once, even if others insert rows
    meanwhile, unless the row's time is changed. A list that begins with the
    oldest rows might never end, because new rows come last. It therefore omits
    rows whose time is after that of its first page, which the cursor holds.

    A search by filters that no index supports searches a limited number of
    rows and amount of text in each call. A page may therefore have fewer rows
    than its limit, even none, although a next page exists.

    A host's subclass may set the limits.
    """

    closed_doors: ClassVar[Mapping[str, str]] = {
        "page_size": "Set default_limit.",
        "max_page_size": "Set max_limit.",
        "page_size_query_param": "The parameter is limit.",
        "cursor_query_param": "The parameter is cursor.",
        "ordering": "Lists have one order, by time.",
    }
    """The attributes of DRF's paginators that have no effect in a subclass."""

    default_limit = 50
    max_limit = 200
    key = "id"
    """A field whose values are unique in the list."""
    key_from_text: Callable[[str], Key] = UUID
    """Converts the key in a cursor."""
    size: Combinable | None = None
    """The number of bytes of the large fields of a row.

    The page ends before they exceed MAX_PAGE_SIZE in total, but has at least
    one row. Without it, 200 rows must be smaller than that.
    """
    searched: ClassVar[Mapping[str, Collection[str]]] = {}
    """By time field, the filters that no index supports in its order."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        refuse_closed_doors(cls, cls.closed_doors)

    def searched_size(self, search: Mapping[str, object]) -> Combinable:
        """Return the number of bytes to search in a row by these filters."""
        return Value(0)

    def paginate_queryset(  # type: ignore[override]
        self, queryset: QuerySet[M], request: Request, view: "ListMixin"
    ) -> list[M]:
        query = view.validated_data
        self.request = request
        self.time_field = view.list_query.time_field(query)
        self.identity = identity_of(view)
        self.cursor = None
        if "cursor" in query:
            key_from_text = type(self).key_from_text
            self.cursor = Cursor.decode(query["cursor"], self.identity, key_from_text)
        backwards = self.cursor is not None and self.cursor.backwards
        oldest_first = Order(query["order"]) is Order.OLDEST
        # A page before the cursor is read in the opposite order.
        self.ascending = oldest_first != backwards
        self.until = None
        if oldest_first:
            self.until = (self.cursor and self.cursor.until) or timezone.now()
        limit = min(query.get("limit", self.default_limit), self.max_limit)
        items, after = self.read(queryset, view, limit)
        before = self._position_before_page(items, after)
        if backwards:
            items.reverse()
        self.next = before if backwards else after
        self.previous = after if backwards else before
        return items

    def read(
        self, queryset: QuerySet[M], view: "ListMixin", limit: int
    ) -> tuple[list[M], Position | None]:
        """Return the rows of the page in the order in which they are read, and
        the position at which the page after them begins, or None if no row
        follows.
        """
        query = view.validated_data
        names = self.searched.get(self.time_field, ())
        search = {name: query[name] for name in names if name in query}
        ordered = self._ordered(queryset)
        if not search:
            return self._select(ordered, limit, self.size)
        found = ordered.filter(*map(view.list_query.condition, search, search.values()))
        return self._search(ordered, found, limit, search)

    def links(self) -> dict[str, str | None]:
        """Return the URLs of the next and the previous page, and the cursor of
        the next one, each None if there is no such page.
        """
        next_cursor = self._cursor_at(self.next, False)
        return {
            "next": self._link(next_cursor),
            "previous": self._link(self._cursor_at(self.previous, True)),
            "next_cursor": next_cursor,
        }

    def _ordered(self, queryset: QuerySet[M]) -> QuerySet[M]:
        """Return the rows of the list that come after the cursor, ordered."""
        # Read all queries from one database. Otherwise, a router might choose
        # another one for each.
        rows = queryset.using(queryset.db)
        if self.until is not None:
            rows = rows.filter(**{f"{self.time_field}__lte": self.until})
        if self.cursor is not None:
            comes_after = GreaterThan if self.ascending else LessThan
            rows = self._compared(rows, self.cursor[:2], comes_after)
        if self.ascending:
            return rows.order_by(self.time_field, self.key)
        return rows.order_by(f"-{self.time_field}", f"-{self.key}")

    def _compared(
        self, rows: QuerySet[M], position: Position, lookup: Comparison
    ) -> QuerySet[M]:
        names = (self.time_field, self.key)
        return rows.filter(compare_positions(rows.model, names, position, lookup))

    def _position_before_page(
        self, items: list[M], after: Position | None
    ) -> Position | None:
        """Return the position at which the page before this one begins, in the
        opposite order, or None if there is no such page.

        ``after`` is the position at which the next page begins.
        """
        if self.cursor is None:
            return None
        if items:
            return self.position(items[0])
        # A search has found nothing in the rows that it scanned, or no row comes
        # after the cursor: the page before it begins at the end of the list. Any
        # key does, because no row has this time.
        last_time = LATEST if self.ascending else EARLIEST
        return after or (last_time, self.cursor.key)

    def _select(
        self, ordered: QuerySet[M], limit: int, size: Combinable | None
    ) -> tuple[list[M], Position | None]:
        """Return the rows of the page, and the position at which the next page
        begins, or None if no row follows.
        """
        if size is None:
            # One row more shows that more rows follow the page.
            rows = list(ordered[: limit + 1])
            items = rows[:limit]
            has_more = len(rows) > limit
        else:
            number, has_more = number_to_read(ordered, size, limit, MAX_PAGE_SIZE)
            # without a statement if there are none
            items = list(ordered[:number]) if number else []
        if not (items and has_more):
            return items, None
        return items, self.position(items[-1])

    def _search(
        self,
        ordered: QuerySet[M],
        found: QuerySet[M],
        limit: int,
        search: Mapping[str, object],
    ) -> tuple[list[M], Position | None]:
        """Return what ``_select`` returns for the rows in ``found`` among those
        that this call may scan.

        The next page begins after them or, if no more have been found, after
        the last row that this call may scan.
        """
        # Fetch only the sizes first. Fetching 5,000 positions, too, would take
        # longer than a search for a common text.
        number, has_more = number_to_read(
            ordered, self.searched_size(search), MAX_SCANNED, MAX_SCANNED_SIZE
        )
        last_scanned = None
        if has_more:
            positions = ordered.values_list(self.time_field, self.key)
            # None if that row has been deleted meanwhile.
            last_scanned = positions[number - 1 : number].first()
        if last_scanned is not None:
            # PostgreSQL cannot use an index for the negation of a row
            # comparison, so do not exclude() the rows after the last one.
            up_to = LessThanOrEqual if self.ascending else GreaterThanOrEqual
            found = self._compared(found, last_scanned, up_to)
        items, after = self._select(found, limit, self.size_of_found(search))
        return items, after or last_scanned

    def size_of_found(self, search: Mapping[str, object]) -> Combinable | None:
        """Return the ``size`` of a row that a search by these filters finds."""
        return self.size

    def position(self, item: M) -> Position:
        return getattr(item, self.time_field), getattr(item, self.key)

    def _cursor_at(self, position: Position | None, backwards: bool) -> str | None:
        """Return the cursor of the page at this position, or None without a
        position.
        """
        if position is None:
            return None
        return Cursor(*position, backwards, self.until).encode(self.identity)

    def _link(self, cursor: str | None) -> str | None:
        """Return the absolute URL of the request with this cursor, or None
        without a cursor.
        """
        if cursor is None:
            return None
        url = self.request.build_absolute_uri()
        return replace_query_param(url, "cursor", cursor)


class QueryFilter(BaseFilterBackend):
    """Filters by each parameter that the view's query serializer, a PageQuery,
    declares and by which its paginator does not search.
    """

    def filter_queryset(  # type: ignore[override]  # DRF's is any view
        self, request: Request, queryset: QuerySet[M], view: "ListMixin"
    ) -> QuerySet[M]:
        query = view.validated_data
        time_field = view.list_query.time_field(query)
        searched = view.pagination_class.searched.get(time_field, ())
        for name in query.keys() - PAGING - {*searched}:
            queryset = queryset.filter(view.list_query.condition(name, query[name]))
        return queryset
