"""The statements that write bookmarks without Django's ORM.

On PostgreSQL, one parameter, an array of JSON objects, has the values of
several rows. An INSERT with it takes a third of the time of one with a
parameter for each value.
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any
from uuid import UUID

import orjson
from django.db import connections

from bookmarks.tags import text_of_tags
from usergroups.db.compiled_statements import prepared
from usergroups.models import UserGroup

from .unique_keys import (
    NO_COLLECTION,
    Row,
    UniqueKeyManager,
    columns_of,
    unique_key_of_row,
)

if TYPE_CHECKING:
    from bookmarks.models import Bookmark

INSERT = """INSERT INTO {table} ({columns}) {source}
ON CONFLICT {action}
RETURNING id"""

# An UPDATE with a join would read all bookmarks of the user group, unless
# PostgreSQL's statistics know how many there are. SQLite stores a UUID as 32
# digits, and PostgreSQL understands them.
UNIQUE = f"(user_group_id, url_digest, COALESCE(collection_id, '{NO_COLLECTION.hex}'))"

JSON_SOURCE = """SELECT %s, {columns}
FROM json_populate_recordset(NULL::{table}, %s)"""


def row_of(bookmark: "Bookmark") -> Row:
    """Return the row of a bookmark."""
    return {name: getattr(bookmark, name) for name in columns_of(type(bookmark))}


def insert_rows(
    bookmarks: UniqueKeyManager,
    user_group: UserGroup,
    rows: Sequence[Row],
    updated: Iterable[str] = (),
) -> set[UUID]:
    """Insert the rows whose unique keys no bookmark of the user group has, and
    write the columns named ``updated`` of the bookmarks that have the others.

    Return the ids of the rows that were written. There are up to 1,000 rows.

    Django's save() would raise an IntegrityError for a bookmark that exists
    already, which PostgreSQL logs, and which leaves a dead row.
    """
    if not rows:
        return set()
    connection = connections[bookmarks.db]
    options = bookmarks.model._meta
    table = connection.ops.quote_name(options.db_table)
    names = ["user_group_id", *rows[0]]
    action = "DO NOTHING"
    if updated:
        assignments = ", ".join(f"{name} = EXCLUDED.{name}" for name in updated)
        action = f"{UNIQUE} DO UPDATE SET {assignments}"
    # All transactions insert in the same order, so that they do not deadlock.
    rows = sorted(rows, key=unique_key_of_row)
    params: list[Any] = []
    if connection.vendor == "postgresql" and len(rows) > 1:
        source = JSON_SOURCE.format(table=table, columns=", ".join(rows[0]))
        params = [user_group.pk, _json_of(rows)]
    else:
        placeholders = ", ".join(["%s"] * len(names))
        source = "VALUES " + ", ".join([f"({placeholders})"] * len(rows))
        fields = {field.attname: field for field in options.concrete_fields}
        for row in rows:
            params.append(user_group.pk)
            for name, value in row.items():
                params.append(prepared(value, fields[name], connection))
    columns = ", ".join(names)
    sql = INSERT.format(table=table, columns=columns, source=source, action=action)
    with connection.cursor() as cursor:
        cursor.execute(sql, params)
        inserted = cursor.fetchall()
    # SQLite returns text.
    return {options.pk.to_python(key) for (key,) in inserted}


def _json_of(rows: Sequence[Row]) -> str:
    """Return the array of JSON objects from which PostgreSQL makes the rows."""
    stored = []
    for row in rows:
        values = dict(row)
        values["tags"] = text_of_tags(values["tags"])
        stored.append(values)
    # PostgreSQL reads bytes from a text in hexadecimal.
    return orjson.dumps(stored, default=lambda digest: f"\\x{digest.hex()}").decode()
