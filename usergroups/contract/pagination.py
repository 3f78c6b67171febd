"""Lists newest first, in pages that cost the same however far in: a cursor says where the page before ended."""

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Generic, NamedTuple, TypeVar, cast

from django.db.models import F, Field, Func, Model, QuerySet, Value
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


class Row(Func):
    """SQL's row value: compared from the left, as an index over the same columns is ordered."""

    template = "(%(expressions)s)"
    output_field = Field()


class Page(Generic[M]):
    """``limit`` rows of ``queryset`` from ``cursor`` on, by one query; ``key`` is unique within the queryset.

    The order is that of (created_at, key), which never changes for a row: whoever follows ``next`` meets each row
    that stood at the start exactly once, whatever is inserted meanwhile.
    """

    def __init__(self, queryset: QuerySet[M], key: str, limit: int, cursor: Cursor | None = None) -> None:
        self.key = key
        limit = min(limit, MAX_LIMIT)
        backwards = cursor is not None and cursor.backwards
        if cursor is not None:
            beyond = GreaterThan if backwards else LessThan
            cursor_key = Value(cursor.key, output_field=cast("Field[Any, Any]", queryset.model._meta.get_field(key)))
            place = Row(Value(cursor.created_at), cursor_key)
            queryset = queryset.filter(beyond(Row(F("created_at"), F(key)), place))
        ordered = queryset.order_by("created_at", key) if backwards else queryset.order_by("-created_at", f"-{key}")
        rows = list(ordered[: limit + 1])
        more, self.items = len(rows) > limit, rows[:limit]
        if backwards:
            self.items.reverse()
        self.has_next = backwards or more
        self.has_previous = more if backwards else cursor is not None

    def links(self, request: Request) -> dict[str, str | None]:
        """Return the addresses of the pages on both sides, None where there is none."""
        return {
            "next": self._link(request, self.items[-1], False) if self.items and self.has_next else None,
            "previous": self._link(request, self.items[0], True) if self.items and self.has_previous else None,
        }

    def _link(self, request: Request, item: Any, backwards: bool) -> str:
        cursor = Cursor(item.created_at, getattr(item, self.key), backwards)
        query = urlencode({**request.query_params, "cursor": cursor.encode()})
        return request.build_absolute_uri(f"{escape_uri_path(request.path)}?{query}")
