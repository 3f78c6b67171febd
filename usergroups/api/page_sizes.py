"""The size of the JSON on a page, computed by the database.

A Page of rows with large fields, which only user groups have, selects these
expressions.
"""

from collections.abc import Sequence

from django.db import models
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import F, Func
from django.db.models.sql.compiler import SQLCompiler

from usergroups.db.stored_json import ByteLength, JSONObjectField

MAX_PAGE_SIZE = 2 * 1024 * 1024
"""The maximum number of bytes in the large fields of a page."""


class RunningTotal(Func):
    """The total size in bytes of the ``large`` fields of a row and of all rows
    before it on the page.

    The page is ordered by ``time_field`` and ``key``.

    This is SQL, because with Django's Window and Case, a list of 50 rows takes
    30 % more CPU.
    """

    output_field = models.BigIntegerField()

    def __init__(
        self, large: Sequence[str], time_field: str, key: str, ascending: bool
    ) -> None:
        self.ascending = ascending
        super().__init__(F(time_field), F(key), *map(ByteLength, large))

    def as_sql(  # type: ignore[override]
        self, compiler: SQLCompiler, connection: BaseDatabaseWrapper
    ) -> tuple[str, list[int]]:
        time, key, *sizes = compiled_parts(self, compiler)
        return total_sql(sizes, window_sql(time, key, self.ascending)), []


class ValueWithinPage(Func):
    """The value of the field ``name``, or NULL if the RunningTotal is over
    MAX_PAGE_SIZE.

    The first row always fits. The arguments after ``name`` are those of
    RunningTotal.
    """

    output_field = JSONObjectField()

    def __init__(
        self,
        name: str,
        large: Sequence[str],
        time_field: str,
        key: str,
        ascending: bool,
    ) -> None:
        self.ascending = ascending
        super().__init__(F(name), F(time_field), F(key), *map(ByteLength, large))

    def as_sql(  # type: ignore[override]
        self, compiler: SQLCompiler, connection: BaseDatabaseWrapper
    ) -> tuple[str, list[int]]:
        value, time, key, *sizes = compiled_parts(self, compiler)
        window = window_sql(time, key, self.ascending)
        fits = f"{total_sql(sizes, window)} <= %s"
        is_first = f"ROW_NUMBER() OVER {window} = 1"
        sql = f"CASE WHEN {fits} OR {is_first} THEN {value} END"
        return sql, [MAX_PAGE_SIZE]


def compiled_parts(expression: Func, compiler: SQLCompiler) -> list[str]:
    """Return the SQL of the source expressions, which have no parameters."""
    parts = expression.get_source_expressions()
    return [compiler.compile(part)[0] for part in parts]


def window_sql(time: str, key: str, ascending: bool) -> str:
    """Return the window of a row and all rows before it."""
    direction = "ASC" if ascending else "DESC"
    order = f"{time} {direction}, {key} {direction}"
    return f"(ORDER BY {order} ROWS UNBOUNDED PRECEDING)"


def total_sql(sizes: Sequence[str], window: str) -> str:
    """Return the sum of these sizes over the window."""
    size = " + ".join(f"COALESCE({each}, 0)" for each in sizes)
    return f"SUM({size}) OVER {window}"
