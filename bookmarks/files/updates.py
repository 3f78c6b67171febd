"""Give existing bookmarks the titles and the dates that a file has for them."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.db import connections
from django.utils import timezone

from bookmarks.fields import bytea_array
from bookmarks.models import Bookmark
from bookmarks.querysets.batches import NO_COLLECTION, UniqueKey
from usergroups import signals
from usergroups.models import UserGroup

from .postgresql_copy import has_copy
from .rows import BookmarkRow

BATCH_SIZE = 500  # rows of an UPDATE whose time grows with the square of their number

# As in postgresql_copy.EXISTING, the LIMIT makes PostgreSQL look up each row in the unique index.
DIFFERENT = """
    SELECT existing.id
    FROM unnest(%s::uuid[], %s::bytea[], %s::text[], %s::timestamptz[]) AS wanted (place, digest, title, created_at)
    CROSS JOIN LATERAL (
        SELECT {table}."id", {table}."title", {table}."created_at" FROM {table}
        WHERE {table}."user_group_id" = %s AND {table}."url_digest" = digest
            AND COALESCE({table}."collection_id", %s::uuid) = place
        LIMIT 1
    ) AS existing
    WHERE (wanted.title <> '' AND wanted.title <> existing.title) OR wanted.created_at <> existing.created_at
"""

UPDATE = """
    UPDATE {table} SET "title" = wanted.title, "created_at" = wanted.created_at, "updated_at" = %s
    FROM unnest(%s::uuid[], %s::text[], %s::timestamptz[]) AS wanted (id, title, created_at)
    WHERE {table}."user_group_id" = %s AND {table}."id" = wanted.id
"""


def update_existing(rows: Mapping[UniqueKey, BookmarkRow], user_group: UserGroup, using: str) -> int:
    """Write the title and the usable date of each row to the bookmark with this key where they differ.

    Return the number of bookmarks that have changed. Call this in a transaction.
    """
    bookmarks = Bookmark.objects.using(using).filter(user_group=user_group)
    by_sql = has_copy(using)
    if by_sql:
        keys = _different(rows, user_group, using)
    else:
        found = bookmarks.by_unique_key(rows)
        keys = [bookmark.pk for key, bookmark in found.items() if _changes(bookmark, rows[key])]
    changed, retitled, now = [], [], timezone.now()
    # All transactions lock several bookmarks in this order, so that they do not deadlock.
    for bookmark in bookmarks.filter(pk__in=keys).select_for_update().order_by("pk") if keys else ():
        row = rows.get(bookmark.unique_key)  # None if the bookmark has been changed since it was looked up
        if row and (changes := _changes(bookmark, row)):
            for name, value in changes.items():
                setattr(bookmark, name, value)
            bookmark.updated_at = now
            changed.append(bookmark)
            retitled += [bookmark] if "title" in changes else []
    if changed and by_sql:
        _update(changed, user_group, using, now)
    elif changed:
        bookmarks.bulk_update(changed, ["title", "created_at", "updated_at"], BATCH_SIZE)
    signals.announce_update(retitled, using, ["title"])
    return len(changed)


def _changes(bookmark: Bookmark, row: BookmarkRow) -> dict[str, Any]:
    """Return the values of the row that differ from the bookmark's, by the names of the fields."""
    values = {"title": row.title or None, "created_at": row.usable_date}
    return {name: value for name, value in values.items() if value is not None and value != getattr(bookmark, name)}


def _different(rows: Mapping[UniqueKey, BookmarkRow], user_group: UserGroup, using: str) -> list[Any]:
    """Return the ids of the bookmarks that differ from the rows with their keys."""
    connection = connections[using]
    places = "{" + ",".join(str(place) for place, _ in rows) + "}"
    digests = bytea_array(digest for _, digest in rows)
    titles = [row.title for row in rows.values()]
    dates = [row.usable_date for row in rows.values()]
    with connection.cursor() as cursor:
        sql = DIFFERENT.format(table=connection.ops.quote_name(Bookmark._meta.db_table))
        cursor.execute(sql, [places, digests, titles, dates, user_group.pk, NO_COLLECTION])
        return [key for (key,) in cursor.fetchall()]


def _update(changed: list[Bookmark], user_group: UserGroup, using: str, now: datetime) -> None:
    """Write the titles and the dates of the bookmarks, which change ``now``."""
    connection = connections[using]
    keys = [bookmark.pk for bookmark in changed]
    titles = [bookmark.title for bookmark in changed]
    dates = [bookmark.created_at for bookmark in changed]
    with connection.cursor() as cursor:
        sql = UPDATE.format(table=connection.ops.quote_name(Bookmark._meta.db_table))
        cursor.execute(sql, [now, keys, titles, dates, user_group.pk])
