"""The statements that write bookmarks without Django's ORM.

On PostgreSQL, one parameter, an array of JSON objects, has the values of
several rows. An INSERT with it takes a third of the time of one with a
parameter for each value.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeAlias
from uuid import UUID

import orjson
from django.db import connections

from bookmarks.tags import text_of_tags
from usergroups.db.compiled_statements import prepared
from usergroups.models import UserGroup

from .unique_keys import NO_COLLECTION, UniqueKeyManager

if TYPE_CHECKING:
    from bookmarks.models import Bookmark

Row: TypeAlias = Mapping[str, Any]
"""The values of a bookmark, by the names of their columns."""

INSERT = """INSERT INTO {table} ({columns}) {source}
ON CONFLICT {action}
RETURNING id"""

# An UPDATE with a join would read all bookmarks of the user group, unless
# PostgreSQL's statistics know how many there are.
DO_UPDATE = f"""(user_group_id, url_digest, COALESCE(collection_id, '{NO_COLLECTION}'))
DO UPDATE SET {{assignments}}"""

JSON_SOURCE = """SELECT %s, %s, {columns}
FROM json_populate_recordset(NULL::{table}, %s)"""


def row_of(bookmark: "Bookmark") -> Row:
    """Return the values of a bookmark as ``insert_rows`` takes them, without
    the user group and ``updated_at``, which it adds to every row.
    """
    row = {}
    for field in bookmark._meta.concrete_fields:
        if field.attname not in ("user_group_id", "updated_at"):
            row[field.attname] = getattr(bookmark, field.attname)
    return row


def insert_rows(
    bookmarks: UniqueKeyManager,
    user_group: UserGroup,
    rows: Sequence[Row],
    now: datetime,
    action: str = "DO NOTHING",
) -> set[UUID]:
    """Insert the rows whose unique keys no bookmark of the user group has,
    and return the ids of these rows. ``action`` is that for the others.

    There are up to 1,000 rows. Each has the values of all columns except
    ``user_group_id``, and ``updated_at``, which becomes ``now``.

    Django's save() would raise an IntegrityError for a bookmark that exists
    already, which PostgreSQL logs, and which leaves a dead row.
    """
    if not rows:
        return set()
    connection = connections[bookmarks.db]
    quote = connection.ops.quote_name
    options = bookmarks.model._meta
    table = quote(options.db_table)
    shared = {"user_group_id": user_group.pk, "updated_at": now}
    names = [*shared, *rows[0]]
    # All transactions insert in the same order, so that they do not deadlock.
    rows = sorted(rows, key=_order_of_inserts)
    params: list[Any] = []
    if connection.vendor == "postgresql" and len(rows) > 1:
        columns_of_row = ", ".join(map(quote, rows[0]))
        source = JSON_SOURCE.format(table=table, columns=columns_of_row)
        params = [*shared.values(), _json_of(rows)]
    else:
        placeholders = ", ".join(["%s"] * len(names))
        source = "VALUES " + ", ".join([f"({placeholders})"] * len(rows))
        fields = {field.attname: field for field in options.concrete_fields}
        for row in rows:
            values = {**shared, **row}
            for name in names:
                params.append(prepared(values[name], fields[name], connection))
    columns = ", ".join(map(quote, names))
    sql = INSERT.format(table=table, columns=columns, source=source, action=action)
    with connection.cursor() as cursor:
        cursor.execute(sql, params)
        inserted = cursor.fetchall()
    # SQLite returns text.
    return {options.pk.to_python(key) for (key,) in inserted}


def _order_of_inserts(row: Row) -> tuple[bytes, UUID]:
    """Return the unique key of a row."""
    return row["url_digest"], row["collection_id"] or NO_COLLECTION


def _json_of(rows: Sequence[Row]) -> str:
    """Return the array of JSON objects from which PostgreSQL makes the rows."""
    stored = []
    for row in rows:
        values = dict(row)
        if "tags" in values:
            values["tags"] = text_of_tags(values["tags"])
        stored.append(values)
    # PostgreSQL reads bytes from a text in hexadecimal.
    return orjson.dumps(stored, default=lambda digest: f"\\x{digest.hex()}").decode()
