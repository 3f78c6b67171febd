"""Insert bookmarks by PostgreSQL's COPY, and look up which ones exist.

https://www.postgresql.org/docs/current/sql-copy.html
"""

from collections.abc import Iterable, Mapping, Sequence
from uuid import UUID

from django.db import IntegrityError, InternalError, OperationalError, connections, transaction

from bookmarks.fields import bytea_array
from bookmarks.models import Bookmark, Collection
from bookmarks.querysets.batches import NO_COLLECTION
from usergroups import signals
from usergroups.database_errors import is_canceled, is_conflict, is_violation
from usergroups.models import UserGroup

from .rows import BookmarkRow

COLUMNS = {
    "user_group_id": "int8",
    "collection_id": "uuid",
    "id": "uuid",
    "url": "varchar",
    "url_digest": "bytea",
    "title": "varchar",
    "created_at": "timestamptz",
    "updated_at": "timestamptz",
}
"""The columns and their types. After the first two, they are those of a BookmarkRow."""


def has_copy(using: str) -> bool:
    """Return whether the database is PostgreSQL with psycopg 3."""
    with connections[using].cursor() as cursor:
        return hasattr(cursor, "copy")


# The subquery has a LIMIT so that PostgreSQL looks up each row in the unique index. Otherwise, it may read all
# bookmarks of the user group for each chunk.
EXISTING = """
    SELECT position - 1
    FROM unnest(%s::uuid[], %s::bytea[]) WITH ORDINALITY AS wanted (place, digest, position)
    CROSS JOIN LATERAL (
        SELECT FROM {table}
        WHERE {table}."user_group_id" = %s AND {table}."url_digest" = digest
            AND COALESCE({table}."collection_id", %s::uuid) = place
        LIMIT 1
    ) AS existing
"""


def missing_rows(
    rows: Sequence[BookmarkRow], user_group: UserGroup, collection_ids: Mapping[str | None, UUID | None], using: str
) -> list[BookmarkRow]:
    """Return those of the rows whose unique keys no bookmark has."""
    connection = connections[using]
    places = {name: str(collection_ids[name] or NO_COLLECTION) for name in {row.collection for row in rows}}
    place_array = "{" + ",".join(places[row.collection] for row in rows) + "}"
    digest_array = bytea_array(row.url_digest for row in rows)
    sql = EXISTING.format(table=connection.ops.quote_name(Bookmark._meta.db_table))
    with connection.cursor() as cursor:
        cursor.execute(sql, [place_array, digest_array, user_group.pk, NO_COLLECTION])
        existing = {position for (position,) in cursor.fetchall()}
    return [row for position, row in enumerate(rows) if position not in existing]


def copy_rows(
    rows: Iterable[BookmarkRow], user_group: UserGroup, collection_ids: Mapping[str | None, UUID | None], using: str
) -> int | None:
    """Insert the rows in one transaction and return their number. Their unique keys must be distinct.

    Rows are sent as they are read from ``rows``, so that the database stores some while the next ones are being read.
    ``collection_ids`` has the id of each collection that the rows name.

    Return None, with nothing inserted, if a row already exists, a collection or the user group has been deleted,
    another transaction conflicts, or the database canceled the statement, which waits for ``rows``.
    """
    connection = connections[using]
    table, *columns = map(connection.ops.quote_name, (Bookmark._meta.db_table, *COLUMNS))
    # The binary format takes less CPU time to write than the text format.
    sql = f"COPY {table} ({', '.join(columns)}) FROM STDIN (FORMAT BINARY)"
    user_group_id = user_group.pk
    announced = signals.created.has_listeners(Bookmark)
    ids: list[str] = []
    copied = 0
    used: set[UUID] = set()
    try:
        with transaction.atomic(using):
            with connection.wrap_database_errors, connection.cursor() as cursor, cursor.copy(sql) as copy:
                copy.set_types(list(COLUMNS.values()))
                for row in rows:
                    copy.write_row((user_group_id, collection_ids[row.collection], *row[1:]))
                    copied += 1
                    if collection_id := collection_ids[row.collection]:
                        used.add(collection_id)
                    if announced:
                        ids.append(str(row.id))
            if Collection.objects.using(using).filter(user_group=user_group, pk__in=used).count() < len(used):
                transaction.set_rollback(True, using)
                return None
            if ids:
                bookmarks = list(Bookmark.objects.using(using).filter(user_group=user_group, pk__in=ids))
                signals.announce(signals.created, bookmarks, using)
    except (IntegrityError, InternalError, OperationalError) as error:
        if is_violation(error) or is_conflict(error) or is_canceled(error):
            return None
        raise
    return copied
