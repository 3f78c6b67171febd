"""Insert bookmarks by PostgreSQL's COPY: https://www.postgresql.org/docs/current/sql-copy.html"""

from collections.abc import Iterable, Mapping
from uuid import UUID

from django.db import IntegrityError, OperationalError, connections, transaction

from bookmarks.models import Bookmark
from usergroups.models import UserGroup
from usergroups.transactions import is_conflict

from .records import Block, BookmarkRow, distinct

COLUMNS = ("id", "user_group_id", "collection_id", "url", "url_digest", "title", "created_at")

_NULL = "\\N"
_BYTES = "\\\\x"  # the prefix of hexadecimal digits
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
        try:
            with transaction.atomic(using), connection.wrap_database_errors, cursor.copy(sql) as copy:
                for block in blocks:
                    rows = distinct(block.rows, seen)
                    copy.write("".join(_line(row, user_group.pk, collection_ids[row.collection]) for row in rows))
        except IntegrityError:
            return None
        except OperationalError as error:
            if is_conflict(error):
                return None
            raise
    return len(seen)


def _line(row: BookmarkRow, user_group_id: int, collection_id: UUID | None) -> str:
    """Return the row's COLUMNS in COPY's text format."""
    key, _, url, digest, title, created_at = row
    return (
        f"{key}\t{user_group_id}\t{collection_id or _NULL}\t{_escape(url)}\t{_BYTES}{digest.hex()}\t"
        f"{_escape(title)}\t{created_at.isoformat()}\n"
    )


def _escape(text: str) -> str:
    return text if text.isprintable() and "\\" not in text else text.translate(_ESCAPES)
