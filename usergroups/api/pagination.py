"""Keyset pagination by time of creation or of the last change.

Every page costs the same, because the query starts at the row whose position
the cursor holds. A list declares its parameters in a PageQuery, and QueryFilter
filters by them. KeysetPagination is the paginator of views, and makes a Page,
or a ScanPage for a condition that no index supports.
"""

import hashlib
import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Collection, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar, cast
from uuid import UUID

from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import Model, QuerySet
from django.db.models.expressions import Combinable
from django.db.models.lookups import (
    GreaterThan,
    GreaterThanOrEqual,
    LessThan,
    LessThanOrEqual,
)
from django.utils import timezone
from django.utils.encoding import escape_uri_path
from django.utils.http import urlencode
from rest_framework import serializers
from rest_framework.exceptions import ErrorDetail
from rest_framework.filters import BaseFilterBackend
from rest_framework.pagination import BasePagination
from rest_framework.request import Request

from usergroups.db.bounded_reads import compare_positions, number_to_read

from . import strict_json
from .envelopes import Envelope

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

NOT_A_CURSOR = "Not a cursor of this list."

Key = str | bytes | UUID
"""The value of the unique field that orders rows with the same time."""

Position = tuple[datetime, Key]
"""The position of a row: the value of its time field, and its key."""


class Cursor(NamedTuple):
    """The position at which a page begins.

    The page has the rows after the one with this time and key or, if
    ``backwards``, the rows before it. The list has no rows whose time is after
    ``until``. ``list_digest`` is that of the PageQuery to which the cursor
    belongs.
    """

    time: datetime
    key: Key
    backwards: bool
    until: datetime | None
    list_digest: str

    def encode(self) -> str:
        """Return the cursor as text for a URL."""
        until = None
        if self.until is not None:
            until = text_of_time(self.until)
        values = [
            self.list_digest,
            text_of_time(self.time),
            text_of_key(self.key),
            self.backwards,
            until,
        ]
        text = json.dumps(values)
        # ``decode`` adds the padding again.
        return urlsafe_b64encode(text.encode()).decode().rstrip("=")

    @classmethod
    def decode(cls, text: str, key_type: Callable[[str], Key]) -> "Cursor":
        """Return the cursor, with its key converted by ``key_type``.

        Raises ValueError if the text is not one that ``encode`` returns.
        """
        # Base64 has blocks of four characters.
        padding = "=" * (-len(text) % 4)
        values = strict_json.loads(urlsafe_b64decode(text + padding))
        match values:
            case [str(list_digest), str(time), str(key), bool(backwards), until]:
                if until is not None:
                    until = parse_time(until)
                cursor = cls(
                    parse_time(time), key_type(key), backwards, until, list_digest
                )
                # Base64, JSON, times and keys have other spellings.
                if cursor.encode() == text:
                    return cursor
        raise ValueError("Not a cursor.")


def text_of_time(time: datetime) -> str:
    """Return the time in UTC, as ``parse_time`` reads it."""
    # The database connection may have another time zone.
    return time.astimezone(UTC).isoformat()


def text_of_key(key: Key) -> str:
    """Return the text of a key, that of bytes in hexadecimal."""
    if isinstance(key, bytes):
        return key.hex()
    return str(key)


def parse_time(text: object) -> datetime:
    """Return the time. Raises ValueError if the text is not a time in UTC."""
    time = datetime.fromisoformat(str(text))
    if time.tzinfo != UTC:
        raise ValueError("Not a time in UTC.")
    return time


class CursorField(serializers.CharField):
    """An encoded cursor.

    ``key_type`` converts the key from text, and raises ValueError if it is
    invalid.
    """

    default_error_messages = {"invalid": NOT_A_CURSOR}

    def __init__(self, key_type: Callable[[str], Key], **kwargs: Any) -> None:
        self.key_type = key_type
        help_text = (
            "The `cursor` parameter of a page's `next` or `previous` URL. It belongs "
            "to the list, the order and the filters of that page."
        )
        super().__init__(required=False, help_text=help_text, **kwargs)

    def to_internal_value(self, data: str) -> Cursor:  # type: ignore[override]
        try:
            return Cursor.decode(data, self.key_type)
        except (ValueError, ValidationError):
            self.fail("invalid")


PAGING = frozenset({"limit", "cursor", "order", "time_field", "list_digest"})
"""What a validated PageQuery has for the paginator, besides SINCE."""

SINCE = {CREATED: "created_since", UPDATED: "updated_since", DELETED: "since"}
"""The name of the parameter that bounds each time field from below."""


class Order(models.TextChoices):
    NEWEST = "newest"
    OLDEST = "oldest"


class PageQuery(serializers.Serializer[None]):
    """The query parameters of a list. Each list has a subclass of its own."""

    examples = {"limit": 50, "order": "newest"}

    # A subclass adds its ``cursor``.
    order = serializers.ChoiceField(
        choices=Order.values,
        default=Order.NEWEST,
        help_text="Whether the newest or the oldest objects come first.",
    )
    # The paginator describes it, with its default.
    limit = serializers.IntegerField(required=False, min_value=1)

    @classmethod
    def condition(cls, name: str, value: Any) -> models.Q:
        """Return the condition of a filter: by default, that the field of this
        name has the value.
        """
        return models.Q(**{name: value})

    def time_field(self, query: dict[str, Any]) -> str:
        """Return the field by which the list is ordered."""
        if "updated_since" in query:
            return UPDATED
        return CREATED

    def validate(self, query: dict[str, Any]) -> dict[str, Any]:
        """Refuse a cursor of another list, order or filter, and add the
        ``time_field`` and the ``list_digest``.
        """
        list_digest = self.list_digest(query)
        cursor = query.get("cursor")
        if cursor is not None and cursor.list_digest != list_digest:
            detail = ErrorDetail(NOT_A_CURSOR, "invalid")
            raise serializers.ValidationError({"cursor": [detail]})
        time_field = self.time_field(query)
        return {**query, "time_field": time_field, "list_digest": list_digest}

    def list_digest(self, query: dict[str, Any]) -> str:
        """Return eight hexadecimal digits that differ between lists, orders
        and filters, for validated fields.
        """
        same_on_all_pages = {
            name: value
            for name, value in query.items()
            if name not in ("cursor", "limit")
        }
        identity = [type(self).__name__, same_on_all_pages]
        # Times are in UTC.
        text = json.dumps(identity, default=str, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:8]


MAX_PAGE_SIZE = 2 * 1024 * 1024
"""The maximum number of bytes in the large fields of a page."""


class PageEnvelope(Envelope):
    """A page of a list."""

    examples = {"next": None, "previous": None}

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


class QueryFilter(BaseFilterBackend):
    """Filters by each parameter that the view's query serializer, a PageQuery,
    declares and that its paginator does not take.
    """

    def filter_queryset(  # type: ignore[override]  # DRF's is any view
        self, request: Request, queryset: QuerySet[M], view: "ListMixin"
    ) -> QuerySet[M]:
        taken = cast(KeysetPagination, view.paginator).parameters(view.query)
        query_class = cast(type[PageQuery], view.request_serializers["GET"])
        conditions = [
            query_class.condition(name, value)
            for name, value in view.query.items()
            if name not in taken
        ]
        if not conditions:
            return queryset
        return queryset.filter(*conditions)
