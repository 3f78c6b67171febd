"""The key that is unique within a user group, and the bookmarks with such
keys.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias
from uuid import UUID

from django.db import connections
from django.db.models import Q, QuerySet, UUIDField, Value
from django.db.models.expressions import RawSQL
from django.db.models.functions import Coalesce

from bookmarks.owned_rows import PublicIdManager
from usergroups.db.compiled_statements import (
    CompiledStatement,
    compile_select,
    parameters,
)
from usergroups.models import UserGroup

if TYPE_CHECKING:
    from django.db.models.query import RawQuerySet

    from bookmarks.models import Bookmark

UniqueKey: TypeAlias = tuple[UUID, bytes]
"""A bookmark's collection, or NO_COLLECTION, and the digest of its URL."""

NO_COLLECTION = UUID(int=0)
"""Replaces NULL in the unique index, which treats NULLs as different."""

COLLECTION_KEY = Coalesce(
    "collection_id", Value(NO_COLLECTION), output_field=UUIDField()
)
"""A bookmark's collection, or NO_COLLECTION, as in the unique index."""

# PostgreSQL does not merge a subquery with an offset into the statement.
LATERAL = "SELECT found.* FROM {source} CROSS JOIN LATERAL ({select} OFFSET 0) found"

MAX_CONDITIONS = 500
"""How many conditions a query joins by OR. SQLite raises an error for 1,000."""


class UniqueKeyManager(PublicIdManager["Bookmark"]):
    """Finds the bookmarks of a user group by their unique keys."""

    def find_by_unique_key(
        self, user_group: UserGroup, key: UniqueKey
    ) -> "Bookmark | None":
        """Return the user group's bookmark with this unique key, or None."""
        select = _select_by_unique_key(self.model, self.db)
        collection, digest = key
        found = select.execute(
            user_group=user_group, collection=collection, url_digest=digest
        )
        return next(iter(found), None)

    def find_by_unique_keys(
        self,
        user_group: UserGroup,
        keys: Iterable[UniqueKey],
        *,
        rows: "QuerySet[Bookmark] | None" = None,
        lock: bool = False,
    ) -> dict[UniqueKey, "Bookmark"]:
        """Return the user group's bookmarks with these unique keys, by key,
        without reading others with the same URLs.

        By default, ``rows`` are all bookmarks. With ``lock``, lock them until
        the transaction ends.
        """
        if rows is None:
            rows = self.all()
        bookmarks = rows.filter(user_group=user_group)
        wanted = set(keys)
        found: Iterable[Bookmark]
        if not wanted:
            found = []
        elif connections[self.db].vendor == "postgresql":
            found = _join_keys(bookmarks, wanted, lock)
        else:
            found = _filter_keys(bookmarks, wanted)
        by_key = {bookmark.unique_key: bookmark for bookmark in found}
        # Another transaction may have changed a key before a row was locked.
        return {key: by_key[key] for key in by_key.keys() & wanted}


def _join_keys(
    bookmarks: "QuerySet[Bookmark]", keys: Collection[UniqueKey], lock: bool
) -> "RawQuerySet[Bookmark]":
    """Return the bookmarks with these keys on PostgreSQL, locked if ``lock``.

    Each key is looked up by itself. PostgreSQL could read all bookmarks of the
    user group for a list of keys, and does so while its statistics do not know
    how many there are, as during a large import.
    """
    collections, digests = zip(*keys, strict=True)
    source = "unnest(%s::uuid[], %s::bytea[]) AS wanted (collection, digest)"
    params: tuple[Any, ...] = (list(collections), list(digests))
    of_key = bookmarks.alias(collection_key=COLLECTION_KEY).filter(
        collection_key=RawSQL("wanted.collection", ()),
        url_digest=RawSQL("wanted.digest", ()),
    )
    if lock:
        ids, params = _lateral(source, params, of_key.values("id"))
        # All transactions lock several bookmarks in this order, so that they
        # do not deadlock.
        source = f"({ids} ORDER BY id) AS wanted"
        of_key = bookmarks.filter(pk=RawSQL("wanted.id", ())).select_for_update()
    sql, params = _lateral(source, params, of_key)
    return bookmarks.raw(sql, params)


def _lateral(
    source: str, params: tuple[Any, ...], rows: "QuerySet[Bookmark, Any]"
) -> tuple[str, tuple[Any, ...]]:
    """Return the statement that selects ``rows`` for each row of ``source``,
    with its parameters.
    """
    select, params_of_select = rows.query.sql_with_params()
    sql = LATERAL.format(source=source, select=select)
    return sql, (*params, *params_of_select)


def _filter_keys(
    bookmarks: "QuerySet[Bookmark]", keys: Collection[UniqueKey]
) -> "Iterator[Bookmark]":
    """Yield the bookmarks with these keys on SQLite, which locks no rows."""
    digests_by_collection = defaultdict(list)
    for collection, digest in keys:
        digests_by_collection[collection].append(digest)
    conditions = []
    for collection, digests in digests_by_collection.items():
        conditions.append(Q(collection_key=collection, url_digest__in=digests))
    with_key = bookmarks.alias(collection_key=COLLECTION_KEY)
    for start in range(0, len(conditions), MAX_CONDITIONS):
        some = conditions[start : start + MAX_CONDITIONS]
        yield from with_key.filter(Q(*some, _connector=Q.OR))


@cache
def _select_by_unique_key(
    model: "type[Bookmark]", using: str
) -> "CompiledStatement[Bookmark]":
    """Return the statement that reads a bookmark by its user group and its
    unique key.
    """
    given = parameters(model, "user_group", "url_digest", "collection")
    key = given.pop("collection")
    rows = model._base_manager.using(using).alias(collection_key=COLLECTION_KEY)
    return compile_select(rows.filter(collection_key=key, **given))
