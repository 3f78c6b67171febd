"""Keyset pagination by time of creation or of the last change.

Every page costs the same, because the query starts at the row whose position
the cursor holds.
"""

from collections.abc import Sequence
from functools import partial
from itertools import accumulate
from typing import Any, Generic, TypeVar, cast

from django.db import models
from django.db.models import (
    F,
    Field,
    Func,
    Model,
    QuerySet,
    Value,
)
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
from rest_framework.request import Request

from usergroups.db.stored_json import ByteLength, JSONObjectField

from .cursors import CREATED, EARLIEST, LATEST, MAX_LIMIT, Cursor, Order, Position
from .envelopes import Envelope

M = TypeVar("M", bound=Model)


MAX_PAGE_SIZE = 2 * 1024 * 1024
"""The maximum number of bytes in the large fields of a page."""


MAX_SCANNED = 5_000
"""The maximum number of rows that one call searches.

The next page continues the search.
"""


MAX_SCANNED_SIZE = 2_000_000  # characters of text that one call searches


class PageEnvelope(Envelope):
    """A page of a list."""

    # A subclass adds the items.
    next = serializers.URLField(
        allow_null=True, help_text="The URL of the next page, or null."
    )
    previous = serializers.URLField(
        allow_null=True, help_text="The URL of the previous page, or null."
    )


class RowValue(Func):
    """An SQL row value.

    A comparison of row values can use an index over the same columns.
    """

    template = "(%(expressions)s)"
    output_field = Field()


def compare_positions(
    model: type[Model],
    key: str,
    position: Position,
    lookup: Any,
    time_field: str = CREATED,
) -> Any:
    """Return the condition that ``lookup``, such as GreaterThan, holds between
    a row's position and ``position``.
    """
    time, value = position
    field = cast("Field[Any, Any]", model._meta.get_field(key))
    return lookup(
        RowValue(F(time_field), F(key)),
        RowValue(Value(time), Value(value, output_field=field)),
    )


class TotalSize(Func):
    """The bytes of the ``large`` fields of a row and of all rows before it on
    the page.

    With ``value_within``, the value of this field instead, or NULL if the row
    does not fit on the page. The first row always fits. This is SQL, because
    with Django's Window and Case, a list of 50 rows takes 30 % more CPU.
    """

    def __init__(
        self,
        large: Sequence[str],
        time_field: str,
        key: str,
        ascending: bool,
        value_within: str | None = None,
    ) -> None:
        self.ascending, self.has_value = ascending, value_within is not None
        value = [F(value_within)] if value_within else []
        field: Any = JSONObjectField() if value_within else models.BigIntegerField()
        super().__init__(
            *value, F(time_field), F(key), *map(ByteLength, large), output_field=field
        )

    def as_sql(self, compiler: Any, connection: Any, **context: Any) -> Any:  # type: ignore[override]
        parts = [compiler.compile(each)[0] for each in self.get_source_expressions()]
        value = parts.pop(0) if self.has_value else None
        time, key, *sizes = parts
        direction = "ASC" if self.ascending else "DESC"
        size = " + ".join(f"COALESCE({each}, 0)" for each in sizes)
        window = (
            f"(ORDER BY {time} {direction}, {key} {direction} ROWS UNBOUNDED PRECEDING)"
        )
        total = f"SUM({size}) OVER {window}"
        if value is None:
            return total, []
        is_first = f"ROW_NUMBER() OVER {window} = 1"
        return f"CASE WHEN {total} <= %s OR {is_first} THEN {value} END", [
            MAX_PAGE_SIZE
        ]


class Page(Generic[M]):
    """Up to ``limit`` rows of ``queryset``, starting at ``cursor``.

    ``key`` names a field that is unique within it.

    The rows are ordered by (time_field, key), the newest first unless
    ``order`` is "oldest". A client that follows ``next`` therefore gets each
    row that existed at the start exactly once, even if others insert rows
    meanwhile, unless the row's time is changed. A list that begins with the
    oldest rows might never end, because new rows come last. It therefore omits
    rows whose time is after that of its first page, which the cursor holds.

    ``large`` names fields of JSON that may be large. The page ends before they
    exceed 2 MiB in total, but has at least one row.
    """

    def __init__(
        self,
        queryset: QuerySet[M],
        key: str,
        limit: int,
        cursor: Cursor | None = None,
        order: str = Order.NEWEST,
        *,
        time_field: str = CREATED,
        large: Sequence[str] = (),
    ) -> None:
        self.key, self.time_field, self.large = key, time_field, large
        # A router may choose another database for each query.
        queryset = queryset.using(queryset.db)
        limit = min(limit, MAX_LIMIT)
        self.backwards = cursor is not None and cursor.backwards
        self.ascending = self.backwards != (order == Order.OLDEST)
        self.until = None
        if order == Order.OLDEST:
            self.until = cursor.until if cursor and cursor.until else timezone.now()
            queryset = queryset.filter(**{f"{time_field}__lte": self.until})
        if cursor is not None:
            beyond = GreaterThan if self.ascending else LessThan
            queryset = queryset.filter(
                self._compare(queryset, (cursor.time, cursor.key), beyond)
            )
        names = [time_field, key]
        ordered = queryset.order_by(
            *(names if self.ascending else [f"-{name}" for name in names])
        )
        rows, last_scanned = self.select(ordered, limit + 1)
        self.items = rows[: self._number_within_size(rows[:limit])]
        ahead: Position | None = last_scanned
        if len(rows) > len(self.items):
            ahead = self._position(self.items[-1])
        behind: Position | None = None
        # From an empty page, the way back begins at the end of the list.
        if cursor is not None:
            end = (LATEST if self.ascending else EARLIEST, cursor.key)
            behind = (
                self._position(self.items[0]) if self.items else last_scanned or end
            )
        if self.backwards:
            self.items.reverse()
        self.next, self.previous = (
            (behind, ahead) if self.backwards else (ahead, behind)
        )

    def select(
        self, ordered: QuerySet[M], number: int
    ) -> tuple[list[M], Position | None]:
        """Return the first ``number`` rows.

        A subclass may return fewer, with the position of the last row that it
        has scanned. The next page starts there.
        """
        return self.load(ordered, number), None

    def load(self, ordered: QuerySet[M], number: int) -> list[M]:
        """Return the first ``number`` rows, with the large fields only of
        those that fit on the page.
        """
        if not self.large:
            return list(ordered[:number])
        total = partial(
            TotalSize, self.large, self.time_field, self.key, self.ascending
        )
        loaded = {f"loaded_{name}": total(value_within=name) for name in self.large}
        rows = ordered.defer(*self.large).annotate(total_size=total(), **loaded)
        found = list(rows[:number])
        for row in found:
            for name in self.large:
                setattr(row, name, getattr(row, f"loaded_{name}"))
        return found

    def _number_within_size(self, rows: list[M]) -> int:
        """Return how many of the rows are on the page, of which ``load`` has
        loaded the large fields.
        """
        if not self.large:
            return len(rows)
        within = sum(row.total_size <= MAX_PAGE_SIZE for row in rows)  # type: ignore[attr-defined]
        return max(1, within)

    def links(self, request: Request) -> dict[str, str | None]:
        """Return the URLs of the next and the previous page, or None."""
        return {
            "next": self._link(request, self.next, False),
            "previous": self._link(request, self.previous, True),
        }

    def _position(self, item: M) -> Position:
        return getattr(item, self.time_field), getattr(item, self.key)

    def _compare(self, rows: QuerySet[M], position: Position, lookup: Any) -> Any:
        return compare_positions(
            rows.model, self.key, position, lookup, self.time_field
        )

    def _link(
        self, request: Request, position: Position | None, backwards: bool
    ) -> str | None:
        """Return the absolute URL of the request with another cursor."""
        if position is None:
            return None
        cursor = Cursor(*position, backwards, self.until, self.time_field)
        query = urlencode({**request.query_params, "cursor": cursor.encode()})
        return request.build_absolute_uri(f"{escape_uri_path(request.path)}?{query}")


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
        self.condition, self.size = condition, size
        super().__init__(queryset, key, **position)

    def select(
        self, ordered: QuerySet[M], number: int
    ) -> tuple[list[M], Position | None]:
        found, last_scanned = (
            ordered.filter(self.condition),
            self._last_scanned(ordered),
        )
        if last_scanned:
            # Not exclude(), because PostgreSQL cannot use an index for the
            # negation of a row comparison.
            until = LessThanOrEqual if self.ascending else GreaterThanOrEqual
            found = found.filter(self._compare(ordered, last_scanned, until))
        return self.load(found, number), last_scanned

    def _last_scanned(self, ordered: QuerySet[M]) -> Position | None:
        """Return the position of the last row that this page may scan, or None
        if it may scan all of them.
        """
        # Fetch only the sizes first. Fetching 5,000 positions, too, would take
        # longer than a search for a common text.
        sizes = list(
            ordered.annotate(size=self.size).values_list("size", flat=True)[
                : MAX_SCANNED + 1
            ]
        )
        # Scan at least one row, however large, so that each page makes
        # progress.
        number = max(
            1,
            sum(total <= MAX_SCANNED_SIZE for total in accumulate(sizes[:MAX_SCANNED])),
        )
        if number >= len(sizes):
            return None
        positions = ordered.values_list(self.time_field, self.key)
        return next(iter(positions[number - 1 : number]), None)
