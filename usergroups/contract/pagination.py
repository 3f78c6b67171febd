"""Keyset pagination by time of creation.

Every page costs the same, because the query starts at the row whose position the cursor holds.
"""

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable
from datetime import UTC, datetime
from itertools import accumulate
from typing import Any, Generic, NamedTuple, TypeVar, cast

from django.db import models
from django.db.models import F, Field, Func, Model, QuerySet, Value
from django.db.models.expressions import Combinable
from django.db.models.lookups import GreaterThan, LessThan
from django.utils import timezone
from django.utils.encoding import escape_uri_path
from django.utils.http import urlencode
from rest_framework import serializers
from rest_framework.request import Request

from . import strict_json
from .fields import Envelope

M = TypeVar("M", bound=Model)

DEFAULT_LIMIT = 50
EARLIEST, LATEST = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)
MAX_LIMIT = 200
MAX_PAGE_SIZE = 8 * 1024 * 1024  # characters

Position = tuple[datetime, Any]
"""The position of a row: its ``created_at`` and its key."""


class Cursor(NamedTuple):
    """The start of a page: after the row with this ``created_at`` and key, or before it if ``backwards``.

    The list has no rows that were created after ``until``.
    """

    created_at: datetime
    key: Any
    backwards: bool
    until: datetime | None = None

    def encode(self) -> str:
        key = self.key.hex() if isinstance(self.key, bytes) else str(self.key)
        values = [self.created_at.isoformat(), key, self.backwards]
        text = json.dumps(values if self.until is None else [*values, self.until.isoformat()])
        return urlsafe_b64encode(text.encode()).decode().rstrip("=")

    @classmethod
    def decode(cls, text: str, key_type: Callable[[str], Any]) -> "Cursor":
        """Return the cursor, with its key converted by ``key_type``. Raises ValueError if the text is invalid."""
        match strict_json.loads(urlsafe_b64decode(text + "=" * (-len(text) % 4))):
            case [str(created_at), str(key), bool(backwards), *until] if all(isinstance(each, str) for each in until):
                times = [datetime.fromisoformat(each) for each in (created_at, *until)]
                if len(until) <= 1 and all(time.tzinfo == UTC for time in times):
                    return cls(times[0], key_type(key), backwards, *times[1:])
        raise ValueError("Not a cursor.")


class CursorField(serializers.CharField):
    """An encoded cursor. ``key_type`` converts the key from text, and raises ValueError if it is invalid."""

    default_error_messages = {"invalid": "Not a cursor of this list."}

    def __init__(self, key_type: Callable[[str], Any], **kwargs: Any) -> None:
        self.key_type = key_type
        help_text = "The `cursor` parameter of a page's `next` or `previous` URL."
        super().__init__(required=False, help_text=help_text, **kwargs)

    def to_internal_value(self, data: str) -> Any:
        try:
            return Cursor.decode(data, self.key_type)
        except ValueError:
            self.fail("invalid")


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


def pop_paging(query: dict[str, Any]) -> dict[str, Any]:
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


def compare_positions(model: type[Model], key: str, position: Position, lookup: Any) -> Any:
    """Return the condition that ``lookup``, such as GreaterThan, holds between a row's position and ``position``."""
    created_at, value = position
    field = cast("Field[Any, Any]", model._meta.get_field(key))
    return lookup(RowValue(F("created_at"), F(key)), RowValue(Value(created_at), Value(value, output_field=field)))


class Page(Generic[M]):
    """Up to ``limit`` rows of ``queryset``, starting at ``cursor``. ``key`` names a field that is unique within it.

    The rows are ordered by (created_at, key), the newest first unless ``order`` is "oldest". A client that follows
    ``next`` therefore gets each row that existed at the start exactly once, even if others insert rows meanwhile,
    unless the row's ``created_at`` is changed. A list that begins with the oldest rows might never end, because new
    rows come last. It therefore omits rows that were created after its first page, the time of which the cursor holds.

    ``size`` is an expression for the size of a row in the response, in characters. The page ends before its rows exceed
    8 MiB in total, but has at least one row. This takes another query.
    """

    def __init__(
        self,
        queryset: QuerySet[M],
        key: str,
        limit: int,
        cursor: Cursor | None = None,
        order: str = Order.NEWEST,
        *,
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
            beyond = GreaterThan if self.ascending else LessThan
            queryset = queryset.filter(compare_positions(queryset.model, key, (cursor.created_at, cursor.key), beyond))
        ordered = queryset.order_by(*(["created_at", key] if self.ascending else ["-created_at", f"-{key}"]))
        if size is not None:
            sizes = ordered.annotate(size=size).values_list("size", flat=True)[:limit]
            limit = max(1, sum(total <= MAX_PAGE_SIZE for total in accumulate(sizes)))
        rows, last_scanned = self.select(ordered, limit + 1)
        self.items = rows[:limit]
        ahead: Position | None = self._position(self.items[-1]) if len(rows) > limit else last_scanned
        behind: Position | None = None
        if cursor is not None:  # From an empty page, the way back begins at the end of the list.
            end = (LATEST if self.ascending else EARLIEST, cursor.key)
            behind = self._position(self.items[0]) if self.items else last_scanned or end
        if self.backwards:
            self.items.reverse()
        self.next, self.previous = (behind, ahead) if self.backwards else (ahead, behind)

    def select(self, ordered: QuerySet[M], number: int) -> tuple[list[M], Position | None]:
        """Return the first ``number`` rows.

        A subclass may return fewer, with the position of the last row that it has scanned. The next page starts there.
        """
        return list(ordered[:number]), None

    def links(self, request: Request) -> dict[str, str | None]:
        """Return the URLs of the next and the previous page, or None."""
        return {"next": self._link(request, self.next, False), "previous": self._link(request, self.previous, True)}

    def _position(self, item: M) -> Position:
        return item.created_at, getattr(item, self.key)  # type: ignore[attr-defined]

    def _link(self, request: Request, position: Position | None, backwards: bool) -> str | None:
        """Return the absolute URL of the request with another cursor."""
        if position is None:
            return None
        query = urlencode({**request.query_params, "cursor": Cursor(*position, backwards, self.until).encode()})
        return request.build_absolute_uri(f"{escape_uri_path(request.path)}?{query}")
