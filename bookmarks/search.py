"""Lists of bookmarks by conditions that no index supports in the order of the
list, such as those of a text or of tags.

In the worst case, PostgreSQL's STRPOS() also takes time in proportion to the
length of the text times the length of the query. A call therefore searches a
limited amount of text.
"""

from collections.abc import Mapping
from typing import Any

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Func, Q, TextField, Value
from django.db.models.expressions import Combinable
from django.db.models.functions import StrIndex
from django.db.models.lookups import GreaterThan
from django.db.models.sql.compiler import SQLCompiler

from bookmarks.querysets.bulk_writes import LARGE_FIELDS
from usergroups.api.pagination import CREATED, UPDATED
from usergroups.db.stored_json import StoredSize

MAX_QUERY_LENGTH = 100  # characters

WITHOUT_INDEX = {
    CREATED: ("q", "tag"),
    UPDATED: ("q", "tag", "collection", "created_since"),
}
"""The filters that no index supports in the order by each time field."""


def searched_size(filters: Mapping[str, object]) -> Combinable:
    """Return the number of bytes to search in a bookmark."""
    size: Combinable = Value(0)
    if "q" in filters:
        size += StoredSize(*LARGE_FIELDS)
    tags = filters.get("tag")
    if isinstance(tags, list):
        size += StoredSize("tags") * len(tags)
    return size


def has_text(text: str) -> Q:
    """Return the condition that a bookmark has the text, in any letter case."""
    lowercase = Lowercase(Value(text))
    found = [contains(name, lowercase) for name in fields_to_search(text)]
    return Q(*found, _connector=Q.OR)


def fields_to_search(text: str) -> list[str]:
    """Return the names of the fields that may contain this text.

    A line break separates tags, and is not part of any.
    """
    return [name for name in LARGE_FIELDS if name != "tags" or "\n" not in text]


def contains(searched: str | Combinable, text: "Lowercase") -> Q:
    """Return the condition that ``searched``, the name of a field or an
    expression, contains the text, in any letter case.
    """
    position = StrIndex(Lowercase(searched), text)
    return Q(GreaterThan(position, 0))


def has_tag(tag: str) -> Q:
    """Return the condition that a bookmark has the tag, in any letter case."""
    line = Value(f"\n{tag}\n")
    return contains(Lines("tags"), Lowercase(line))


class Lines(Func):
    """The text of tags, with a line break before the first and after the last.

    With Django's Concat, a list with 50 tags takes twice as long to compile.
    """

    template = "('\n' || %(expressions)s || '\n')"
    output_field = TextField()


class Lowercase(Func):
    """Convert text to lower case.

    SQLite's own LOWER() changes only ASCII letters.
    """

    function = "LOWER"
    output_field = TextField()

    def as_sqlite(
        self, compiler: SQLCompiler, connection: BaseDatabaseWrapper, **context: Any
    ) -> tuple[str, tuple[str | int, ...]]:
        return self.as_sql(compiler, connection, function="bookmarks_lower", **context)


def create_lower_function(connection: BaseDatabaseWrapper, **kwargs: object) -> None:
    """Create the SQL function that Lowercase uses, on a new connection to
    SQLite.
    """
    if connection.vendor == "sqlite":
        connection.connection.create_function(
            "bookmarks_lower", 1, str.lower, deterministic=True
        )
