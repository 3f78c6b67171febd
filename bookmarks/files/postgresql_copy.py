"""Insert bookmarks by PostgreSQL's COPY.

https://www.postgresql.org/docs/current/sql-copy.html
"""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from types import NoneType
from typing import Any
from uuid import UUID

from django.db import IntegrityError, InternalError, OperationalError, connections, transaction

from bookmarks.models import Bookmark
from usergroups import signals
from usergroups.models import UserGroup
from usergroups.transactions import is_conflict, is_violation

from .records import Block, BookmarkRow, distinct

COLUMNS = ("user_group_id", "collection_id", *BookmarkRow._fields[1:])  # the id in place of the collection's name

_ESCAPES = str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"})


def copy_blocks(
    blocks: Iterable[Block], user_group: UserGroup, collection_ids: Mapping[str | None, UUID | None], using: str
) -> int | None:
    """Insert the distinct rows of the blocks in one transaction and return their number.

    Each block is sent as soon as it is read, so that the database stores it while the next one is being read.
    ``collection_ids`` has the id of each collection that the rows name.

    Return None, with nothing inserted, if COPY is unavailable (the database is not PostgreSQL with psycopg 3), a row
    already exists, a collection or the user group has been deleted, or another transaction conflicts.
    """
    connection = connections[using]
    with connection.cursor() as cursor:
        if not hasattr(cursor, "copy"):
            return None
        table, *columns = map(connection.ops.quote_name, (Bookmark._meta.db_table, *COLUMNS))
        sql = f"COPY {table} ({', '.join(columns)}) FROM STDIN"
        seen: set[tuple[str, bytes]] = set()
        ids: list[str] = []
        try:
            with transaction.atomic(using):
                with connection.wrap_database_errors, cursor.copy(sql) as copy:
                    for block in blocks:
                        rows = list(distinct(block.rows, seen))
                        lines = (_line(user_group.pk, collection_ids[name], *values) for name, *values in rows)
                        copy.write("".join(lines))
                        ids += [row.id for row in rows]
                if signals.created.has_listeners(Bookmark):
                    created = list(Bookmark.objects.using(using).filter(user_group=user_group, pk__in=ids))
                    signals.announce(signals.created, created, using)
        except (IntegrityError, InternalError, OperationalError) as error:
            if is_violation(error) or is_conflict(error):
                return None
            raise
    return len(ids)


def _escape(text: str) -> str:
    return text if text.isprintable() and "\\" not in text else text.translate(_ESCAPES)


_FORMATS: dict[type, Callable[[Any], str]] = {
    str: _escape,
    datetime: datetime.isoformat,
    bytes: lambda value: f"\\\\x{value.hex()}",
    int: str,
    UUID: str,
    NoneType: lambda value: "\\N",
}


def _line(*values: Any) -> str:
    """Return the values in COPY's text format."""
    return "\t".join([_FORMATS[type(value)](value) for value in values]) + "\n"
