"""Keyset pagination, newest first: a page costs the same however far in, because a cursor says where it starts."""

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable
from datetime import UTC, datetime
from itertools import accumulate
from typing import Any, Generic, NamedTuple, TypeVar, cast

from django.db.models import F, Field, Func, Model, Q, QuerySet, Value
from django.db.models.expressions import Combinable
from django.db.models.lookups import GreaterThan, LessThan
from django.utils.encoding import escape_uri_path
from django.utils.http import urlencode
from rest_framework import serializers
from rest_framework.request import Request

from . import strict_json
from .fields import Envelope

M = TypeVar("M", bound=Model)

DEFAULT_LIMIT = 50
MAX_LIMIT = 200
MAX_PAGE_SIZE = 8 * 1024 * 1024  # characters


Place = tuple[datetime, Any]
"""A row's ``created_at`` and key."""


class Cursor(NamedTuple):
    """The place right behind the row with this ``created_at`` and key, or, backwards, right before it."""

    created_at: datetime
    key: Any
    backwards: bool

    def encode(self) -> str:
        text = json.dumps([self.created_at.isoformat(), str(self.key), self.backwards])
        return urlsafe_b64encode(text.encode()).decode().rstrip("=")

    @classmethod
    def decode(cls, text: str, key_type: Callable[[str], Any]) -> "Cursor":
        """Raises ValueError for what ``encode`` did not make."""
        match strict_json.loads(urlsafe_b64decode(text + "=" * (-len(text) % 4))):
            case [str(created_at), str(key), bool(backwards)]:
                cursor = cls(datetime.fromisoformat(created_at), key_type(key), backwards)
                if cursor.created_at.tzinfo == UTC:
                    return cursor
        raise ValueError("Not a cursor.")


class CursorField(serializers.CharField):
    """A cursor over rows whose key is what ``key_type`` makes of its text."""

    default_error_messages = {"invalid": "Not a cursor of this list."}

    def __init__(self, key_type: Callable[[str], Any], **kwargs: Any) -> None:
        self.key_type = key_type
        super().__init__(required=False, help_text="Taken from `next` or `previous` of a page.", **kwargs)

    def to_internal_value(self, data: str) -> Any:
        try:
            return Cursor.decode(data, self.key_type)
        except ValueError:
            self.fail("invalid")


class PageQuery(serializers.Serializer[Any]):
    """The query parameters of every list. A subclass adds its ``cursor``."""

    limit = serializers.IntegerField(
        default=DEFAULT_LIMIT,
        min_value=1,
        help_text=f"How many things a page has at most; {MAX_LIMIT} if you ask for more.",
    )


class PageEnvelope(Envelope):
    """A page. A subclass adds the things on it."""

    next = serializers.URLField(allow_null=True, help_text="Address of the next page, or null.")
    previous = serializers.URLField(allow_null=True, help_text="Address of the page before, or null.")


class RowValue(Func):
    """An SQL row value. Rows are compared from the left, in the order of an index over the same columns."""

    template = "(%(expressions)s)"
    output_field = Field()


class Page(Generic[M]):
    """Up to ``limit`` rows of ``queryset`` from ``cursor`` on. ``key`` is unique within the queryset.

    The order is (created_at, key), which never changes for a row, so that a caller who follows ``next`` gets each row
    that was there at the start exactly once, whatever is inserted meanwhile.

    ``search`` is a condition that no index serves. It is tested on ``max_scanned`` rows at most, by a query of its
    own that finds the last of them; the page may then have fewer rows than ``limit``, even none, and a next page.

    ``size`` is how much each row adds to the answer, in characters. With it, the page ends before its rows add up to
    more than 8 MiB, which takes a query of its own.
    """

    def __init__(
        self,
        queryset: QuerySet[M],
        key: str,
        limit: int,
        cursor: Cursor | None = None,
        *,
        search: Q | None = None,
        max_scanned: int = 0,
        size: Combinable | None = None,
    ) -> None:
        self.key = key
        limit = min(limit, MAX_LIMIT)
        self.backwards = cursor is not None and cursor.backwards
        if cursor is not None:
            queryset = queryset.filter(self._beyond(queryset, cursor.created_at, cursor.key))
        order = ["created_at", key] if self.backwards else ["-created_at", f"-{key}"]
        ordered = queryset.order_by(*order)
        last_scanned: Place | None = None
        if search is not None:
            last = list(ordered.values_list("created_at", key)[max_scanned - 1 : max_scanned + 1])
            if len(last) > 1:
                last_scanned = last[0]
                ordered = ordered.exclude(self._beyond(queryset, *last_scanned))
            ordered = ordered.filter(search)
        if size is not None:
            sizes = ordered.annotate(size=size).values_list("size", flat=True)[:limit]
            limit = max(1, sum(total <= MAX_PAGE_SIZE for total in accumulate(sizes)))
        rows = list(ordered[: limit + 1])
        self.items = rows[:limit]
        ahead: Place | None = self._place(self.items[-1]) if len(rows) > limit else last_scanned
        behind: Place | None = self._place(self.items[0]) if self.items and cursor is not None else None
        if self.backwards:
            self.items.reverse()
        self.next, self.previous = (behind, ahead) if self.backwards else (ahead, behind)

    def links(self, request: Request) -> dict[str, str | None]:
        """Return the addresses of the next and the previous page, None where there is none."""
        return {"next": self._link(request, self.next, False), "previous": self._link(request, self.previous, True)}

    def _place(self, item: M) -> Place:
        return item.created_at, getattr(item, self.key)  # type: ignore[attr-defined]

    def _beyond(self, queryset: QuerySet[M], created_at: datetime, key: Any) -> Any:
        """Return the condition that a row comes after the one with this ``created_at`` and key."""
        field = cast("Field[Any, Any]", queryset.model._meta.get_field(self.key))
        lookup = GreaterThan if self.backwards else LessThan
        return lookup(
            RowValue(F("created_at"), F(self.key)), RowValue(Value(created_at), Value(key, output_field=field))
        )

    def _link(self, request: Request, place: Place | None, backwards: bool) -> str | None:
        if place is None:
            return None
        query = urlencode({**request.query_params, "cursor": Cursor(*place, backwards).encode()})
        return request.build_absolute_uri(f"{escape_uri_path(request.path)}?{query}")
