"""Case-insensitive substring search.

In the worst case, PostgreSQL's STRPOS() and LIKE take time in proportion to the length of the text times the length of
the query. Both are therefore limited.
"""

import sqlite3
from collections.abc import Mapping
from functools import partial
from typing import Any

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Func, IntegerField, Q, TextField, Value
from django.db.models.functions import StrIndex
from django.db.models.lookups import GreaterThan, Lookup

from usergroups.contract.pagination import Search

from . import text_index

MAX_QUERY_LENGTH = 100  # characters
MAX_SCANNED = 5_000
"""The maximum number of bookmarks that one call searches. The next page continues the search."""
MAX_SCANNED_SIZE = 2 * 1024 * 1024
"""The maximum size of the text that one call searches, in bytes."""


class OctetLength(Func):
    """The size of a text in bytes, which PostgreSQL knows without reading it. On SQLite, its number of characters."""

    function = "OCTET_LENGTH"
    output_field = IntegerField()

    def as_sqlite(self, compiler: Any, connection: BaseDatabaseWrapper, **context: Any) -> Any:
        return self.as_sql(compiler, connection, function="LENGTH", **context)


class Casefold(Func):
    """Convert text for case-insensitive comparison. SQLite's own LOWER() changes only ASCII letters."""

    function = "LOWER"
    output_field = TextField()

    def as_sqlite(self, compiler: Any, connection: BaseDatabaseWrapper, **context: Any) -> Any:
        return self.as_sql(compiler, connection, function="bookmarks_casefold", **context)


def contains(text: str) -> Q:
    """Return the condition that a bookmark's URL or title contains ``text`` in any letter case. No index supports it.

    PostgreSQL would otherwise use the text index for a few bookmarks, which takes long for a text that is common among
    those of other user groups.
    """
    needle = Casefold(Value(text))
    return Q(*(GreaterThan(StrIndex(Casefold(name), needle), 0) for name in ("url", "title")), _connector=Q.OR)


class ContainsText(Lookup):
    """Whether a text contains another one in any letter case. The text index supports it on PostgreSQL."""

    lookup_name = "contains_text"

    def as_sql(self, compiler: Any, connection: BaseDatabaseWrapper) -> Any:
        return compiler.compile(GreaterThan(StrIndex(Casefold(self.lhs), Casefold(Value(self.rhs))), 0))

    def as_postgresql(self, compiler: Any, connection: BaseDatabaseWrapper) -> Any:
        pattern = f"%{connection.ops.prep_for_like_query(self.rhs)}%"
        text, params = compiler.compile(Casefold(self.lhs))
        pattern, pattern_params = compiler.compile(Casefold(Value(pattern)))
        return f"{text} LIKE {pattern}", [*params, *pattern_params]


def for_query(query: Mapping[str, Any]) -> Search | None:
    """Return the search for ``q`` and ``updated_since``, or None if neither is given."""
    if not {"q", "updated_since"} & query.keys():
        return None
    changed = Q(updated_at__gte=query["updated_since"]) if "updated_since" in query else Q()
    condition = changed & contains(query["q"]) if "q" in query else changed
    size = OctetLength("url") + OctetLength("title") if "q" in query else Value(0)
    by_index = None
    if text_index.supports(text := query.get("q", "")):
        matches = Q(url__contains_text=text) | Q(title__contains_text=text)
        by_index = partial(text_index.find, condition=changed & matches)
    return Search(condition, size, max_rows=MAX_SCANNED, max_size=MAX_SCANNED_SIZE, by_index=by_index)


def create_casefold_function(connection: BaseDatabaseWrapper, **kwargs: Any) -> None:
    """Create the function that Casefold uses on a new SQLite connection."""
    if isinstance(connection.connection, sqlite3.Connection):
        connection.connection.create_function("bookmarks_casefold", 1, str.casefold, deterministic=True)
