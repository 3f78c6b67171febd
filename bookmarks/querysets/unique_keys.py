"""The key that is unique within a user group, and the bookmarks with such
keys.
"""

from collections import defaultdict
from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias
from uuid import UUID

from django.db import connections
from django.db.models import Expression, Q, QuerySet, UUIDField, Value
from django.db.models.functions import Coalesce

from bookmarks.owned_rows import PublicIdManager
from usergroups.db.compiled_statements import (
    CompiledStatement,
    compile_select,
    parameters,
)
from usergroups.models import UserGroup

if TYPE_CHECKING:
    from bookmarks.models import Bookmark

UniqueKey: TypeAlias = tuple[UUID, bytes]
"""A bookmark's collection, or NO_COLLECTION, and the digest of its URL."""

Row: TypeAlias = dict[str, Any]
"""The values of a bookmark of a known user group, by the names of their columns.

It takes a fraction of the time of an instance.
"""

NO_COLLECTION = UUID(int=0)
"""Replaces NULL in the unique index, which treats NULLs as different."""

COLLECTION_KEY = Coalesce(
    "collection_id", Value(NO_COLLECTION), output_field=UUIDField()
)
"""A bookmark's collection, or NO_COLLECTION, as in the unique index."""

KEY_COLUMNS = ["collection_id", "url_digest"]

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
        lock: bool = False,
        **expressions: Expression,
    ) -> dict[UniqueKey, Row]:
        """Return the rows of the user group's bookmarks with these unique keys,
        by key, without reading others with the same URLs.

        The ``expressions`` are those of ``rows_by_key``. With ``lock``, lock
        the rows until the transaction ends.
        """
        digests_by_collection = defaultdict(list)
        for collection, digest in keys:
            digests_by_collection[collection].append(digest)
        conditions = []
        for collection, digests in digests_by_collection.items():
            conditions.append(Q(collection_key=collection, url_digest__in=digests))
        bookmarks = self.filter(user_group=user_group)
        bookmarks = bookmarks.alias(collection_key=COLLECTION_KEY)
        # All transactions lock several bookmarks in this order, so that they
        # do not deadlock.
        if lock:
            bookmarks = bookmarks.select_for_update().order_by("pk")
        # PostgreSQL needs only one query, which keeps the order of the locks.
        size = max(1, len(conditions))
        if connections[self.db].vendor == "sqlite":
            size = MAX_CONDITIONS
        found: dict[UniqueKey, Row] = {}
        for start in range(0, len(conditions), size):
            any_key = Q(*conditions[start : start + size], _connector=Q.OR)
            found |= rows_by_key(bookmarks.filter(any_key), **expressions)
        return found


def rows_by_key(
    bookmarks: "QuerySet[Bookmark]", **expressions: Expression
) -> dict[UniqueKey, Row]:
    """Return the rows of a queryset by their unique keys.

    With ``expressions``, the rows have the values of these and of the key only.
    """
    columns = KEY_COLUMNS if expressions else columns_of(bookmarks.model)
    rows = bookmarks.values(*columns, **expressions)
    return {unique_key_of_row(row): row for row in rows}


def columns_of(model: "type[Bookmark]") -> list[str]:
    """Return the names of the columns of a row, all but the user group's."""
    names = [field.attname for field in model._meta.concrete_fields]
    return [name for name in names if name != "user_group_id"]


def unique_key_of_row(row: Row) -> UniqueKey:
    """Return the unique key of a row."""
    return row["collection_id"] or NO_COLLECTION, bytes(row["url_digest"])


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
