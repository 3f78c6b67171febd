"""Case-insensitive substring search.

In the worst case, PostgreSQL's STRPOS() takes time in proportion to the length of the text times the length of the
query. Both are therefore limited.
"""

import sqlite3
from collections.abc import Mapping
from typing import Any

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Func, IntegerField, Q, TextField, Value
from django.db.models.functions import StrIndex
from django.db.models.lookups import GreaterThan

from usergroups.contract.pagination import Search

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
    """Return the condition that a bookmark's URL or title contains ``text`` in any letter case."""
    needle = Casefold(Value(text))
    return Q(*(GreaterThan(StrIndex(Casefold(name), needle), 0) for name in ("url", "title")), _connector=Q.OR)


def for_query(query: Mapping[str, Any]) -> Search | None:
    """Return the search for ``q`` and ``updated_since``, which no index supports, or None if neither is given."""
    conditions = []
    if "q" in query:
        conditions.append(contains(query["q"]))
    if "updated_since" in query:
        conditions.append(Q(updated_at__gte=query["updated_since"]))
    if not conditions:
        return None
    size = OctetLength("url") + OctetLength("title") if "q" in query else Value(0)
    return Search(Q(*conditions), size, max_rows=MAX_SCANNED, max_size=MAX_SCANNED_SIZE)


def create_casefold_function(connection: BaseDatabaseWrapper, **kwargs: Any) -> None:
    """Create the function that Casefold uses on a new SQLite connection."""
    if isinstance(connection.connection, sqlite3.Connection):
        connection.connection.create_function("bookmarks_casefold", 1, str.casefold, deterministic=True)
