"""The querysets of bookmarks and collections."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any, cast
from uuid import UUID

import orjson
from django.db import IntegrityError, connections
from django.db.models import Exists, OuterRef, Q, QuerySet, UUIDField, Value
from django.db.models.functions import Coalesce
from django.utils import timezone

from usergroups import signals
from usergroups.db.announcements import announce, announce_update
from usergroups.db.compiled_statements import (
    CompiledSelect,
    CompiledStatement,
    parameters,
)
from usergroups.db.retry import retry_on_conflict
from usergroups.models import UserGroup

from . import web_url
from .public_ids import Duplicate, PublicIdQuerySet, parse_public_id

if TYPE_CHECKING:
    from bookmarks.models import Bookmark, Collection

# replaces NULL in the unique index, which treats NULLs as different
NO_COLLECTION = UUID(int=0)
MAX_CONDITIONS = 500  # joined by OR in one query; SQLite raises an error for 1,000
# rows in one UPDATE, whose time grows with the square of their number
MAX_UPDATED = 200

COLLECTION_KEY = Coalesce(
    "collection_id", Value(NO_COLLECTION), output_field=UUIDField()
)
"""A bookmark's collection, or NO_COLLECTION, as in the unique index."""

UniqueKey = tuple[UUID, bytes]
"""The key that is unique within a user group: a bookmark's collection, or
NO_COLLECTION, and the digest of its URL.
"""

INSERT_ROWS = """INSERT INTO {table} ("user_group_id", "updated_at", {columns})
SELECT %s, %s, {columns} FROM json_populate_recordset(NULL::{table}, %s)
ON CONFLICT DO NOTHING
RETURNING id"""
"""Inserts rows on PostgreSQL, from the values that they share and an array of
JSON objects.
"""


class BookmarkQuerySet(PublicIdQuerySet["Bookmark"]):
    def matching(
        self, user_group: UserGroup, filters: Mapping[str, Any]
    ) -> "BookmarkQuerySet":
        """Filter by user group, and by ``collection`` (None for none), ``url``
        and ``created_since``, where given.
        """
        bookmarks = self.filter(user_group=user_group)
        if "collection" in filters:
            bookmarks = bookmarks.filter(collection=filters["collection"])
        if "url" in filters:
            bookmarks = bookmarks.filter(url_digest=web_url.digest(filters["url"]))
        if "created_since" in filters:
            bookmarks = bookmarks.filter(created_at__gte=filters["created_since"])
        return bookmarks

    def add(
        self,
        *,
        user_group: UserGroup,
        url: str,
        collection: "Collection | None" = None,
        **fields: Any,
    ) -> tuple["Bookmark", bool]:
        """Get or create the user group's bookmark of ``url`` in
        ``collection``. Return it and whether it was created.

        ``fields`` are set only if it is created. Raises ValueError if the URL
        is invalid or the collection belongs to another user group, and
        IntegrityError if the user group or the collection is deleted.
        """
        if collection is not None and collection.user_group_id != user_group.pk:
            raise ValueError("The collection belongs to another user group.")
        using = self.db_for_write
        bookmark = self.model(
            user_group=user_group, url=url, collection=collection, **fields
        )

        def get_or_create() -> "tuple[Bookmark, bool]":
            if _compiled_insert(self.model, using).insert(bookmark):
                announce(signals.created, [bookmark], using)
                return bookmark, True
            collection_key, digest = bookmark.unique_key
            select = _select_by_unique_key(type(self), self.model, using)
            if existing := select(
                user_group=user_group.pk, url_digest=digest, collection=collection_key
            ):
                return existing[0], False
            raise IntegrityError(
                "The conflicting bookmark was deleted before it could be read."
            )

        # It writes with a single statement.
        return retry_on_conflict(get_or_create, using, atomic=False)

    def change(
        self,
        public_id: object,
        versions: Sequence[datetime] | None = None,
        **changes: Any,
    ) -> "Bookmark":
        """Update the given fields and return the bookmark.

        Its ``updated_at`` must be among ``versions``, if given.

        Raises what ``PublicIdQuerySet.change`` raises, and ValueError if the
        new URL is invalid.
        """
        if "url" in changes:
            changes["url_digest"] = web_url.digest(changes["url"])
        return super().change(public_id, versions, **changes)

    def duplicate_of(self, **changes: Any) -> UUID | None:
        bookmark = self.get()  # the row to change
        for name, value in changes.items():
            setattr(bookmark, name, value)
        others = (
            self.model.objects.using(self.db)
            .filter(user_group=bookmark.user_group_id)
            .exclude(pk=bookmark.pk)
        )
        return next(
            (
                other.pk
                for other in others.by_unique_key([bookmark.unique_key]).values()
            ),
            None,
        )

    def move_many(
        self, public_ids: Sequence[object], collection: "Collection | None"
    ) -> "list[Bookmark | type[Duplicate] | None]":
        """Move bookmarks to ``collection``, or out of their collections if it
        is None. Return a result for each id.

        A result is the bookmark after the move, None if there is no such
        bookmark, or the class Duplicate if another bookmark with its URL is in
        the collection. Raises IntegrityError if the collection is deleted.
        """
        keys: list[Any] = [parse_public_id(public_id) for public_id in public_ids]
        bookmarks = self.for_write()
        results = retry_on_conflict(
            lambda: bookmarks._move_many(keys, collection), bookmarks.db
        )
        return [results.get(key) for key in keys]

    def _move_many(
        self, keys: Sequence[Any], collection: "Collection | None"
    ) -> "dict[UUID | None, Bookmark | type[Duplicate] | None]":
        rows = (
            self.select_related(None)
            .filter(pk__in=keys)
            .select_for_update()
            .order_by("pk")
        )
        found = {bookmark.pk: bookmark for bookmark in rows}
        collection_key = collection.pk if collection else NO_COLLECTION
        new_keys = {
            key: (collection_key, bytes(bookmark.url_digest))
            for key, bookmark in found.items()
        }
        owners = {
            unique_key: bookmark.pk
            for unique_key, bookmark in self.by_unique_key(new_keys.values()).items()
        }
        results: dict[UUID | None, Any] = {}
        for key in dict.fromkeys(key for key in keys if key in found):
            # The first of several bookmarks with the same URL becomes the
            # owner of their unique key.
            results[key] = (
                found[key]
                if owners.setdefault(new_keys[key], key) == key
                else Duplicate
            )
        # after the move
        inside = [
            bookmark for bookmark in results.values() if bookmark is not Duplicate
        ]
        moved, now = (
            [
                row
                for row in inside
                if (row.collection_id or NO_COLLECTION) != collection_key
            ],
            timezone.now(),
        )
        self.filter(pk__in=[bookmark.pk for bookmark in moved]).update(
            collection=collection, updated_at=now
        )
        for bookmark in moved:
            bookmark.updated_at = now
        for bookmark in inside:
            bookmark.collection = collection
        announce_update(moved, self.db, ["collection"])
        return results

    def remove_many(self, public_ids: Sequence[object]) -> list[bool]:
        """Delete bookmarks and return, in order, whether each existed."""
        keys: list[Any] = [parse_public_id(public_id) for public_id in public_ids]
        bookmarks = self.for_write()

        def remove() -> set[UUID]:
            found = set(
                bookmarks.filter(pk__in=keys)
                .select_for_update()
                .order_by("pk")
                .values_list("pk", flat=True)
            )
            bookmarks.filter(pk__in=found).delete()
            return found

        removed = retry_on_conflict(remove, bookmarks.db)
        existed = []
        for key in keys:
            existed.append(key in removed)
            removed.discard(key)  # A repeated id is reported as deleted only once.
        return existed

    def add_many(
        self, user_group: UserGroup, items: Sequence[dict[str, Any]]
    ) -> list[tuple["Bookmark", bool]]:
        """Do what ``add`` does for each item, a dict of a bookmark's fields,
        and return the results in their order.

        PostgreSQL runs one INSERT for all items. Either all of them are stored
        or none.
        """
        bookmarks, now = self.for_write().filter(user_group=user_group), timezone.now()
        candidates = [
            self.model(
                **{"created_at": now, **item}, updated_at=now, user_group=user_group
            )
            for item in items
        ]
        keys = [candidate.unique_key for candidate in candidates]
        # keeps the first of several duplicates
        new = dict(zip(reversed(keys), reversed(candidates), strict=True))
        stored = retry_on_conflict(
            lambda: bookmarks._add_many(user_group, new, now), bookmarks.db
        )
        return [
            (stored[key], stored[key].pk == own.pk)
            for key, own in zip(keys, candidates, strict=True)
        ]

    def _add_many(
        self, user_group: UserGroup, new: dict[UniqueKey, "Bookmark"], now: datetime
    ) -> dict[UniqueKey, "Bookmark"]:
        """Insert the bookmarks in ``new``, unless they exist already, and
        return the stored ones by their keys.
        """
        for (_, digest), bookmark in new.items():
            bookmark.url_digest = digest
        shared = ("user_group_id", "updated_at")
        names = [
            field.attname
            for field in self.model._meta.concrete_fields
            if field.attname not in shared
        ]
        rows = [
            {name: getattr(bookmark, name) for name in names}
            for bookmark in new.values()
        ]
        created = self.insert_missing(user_group, rows, now)
        stored = {
            key: bookmark for key, bookmark in new.items() if bookmark.pk in created
        }
        for bookmark in stored.values():
            bookmark._state.adding, bookmark._state.db = False, self.db
        if len(stored) < len(new):
            stored |= self.by_unique_key(new.keys() - stored.keys())
        if len(stored) < len(new):
            raise IntegrityError(
                "A conflicting bookmark was deleted before it could be read."
            )
        return stored

    def insert_missing(
        self, user_group: UserGroup, rows: Sequence[Mapping[str, Any]], now: datetime
    ) -> set[UUID]:
        """Insert the rows whose unique keys no bookmark of the user group has,
        and return the ids of these rows.

        Each row has the values of all columns by name, except the user group
        and ``updated_at``, which becomes ``now``. Call this in a transaction.
        The filters of the queryset are ignored.
        """
        if not rows:
            return set()
        # All transactions insert in the same order, so that they do not
        # deadlock.
        ordered = sorted(
            rows,
            key=lambda row: (row["url_digest"], row["collection_id"] or NO_COLLECTION),
        )
        connection = connections[self.db]
        if connection.vendor == "postgresql":
            # One parameter for all rows takes a third of the time of a
            # parameter for each value. bytea in hexadecimal
            text = orjson.dumps(
                ordered, default=lambda digest: f"\\x{digest.hex()}"
            ).decode()
            quote = connection.ops.quote_name
            sql = INSERT_ROWS.format(
                table=quote(self.model._meta.db_table),
                columns=", ".join(map(quote, rows[0])),
            )
            with connection.cursor() as cursor:
                cursor.execute(sql, [user_group.pk, now, text])
                created = {key for (key,) in cursor.fetchall()}
        else:
            insert = _compiled_insert(self.model, self.db).insert
            candidates = [
                self.model(**row, updated_at=now, user_group=user_group)
                for row in ordered
            ]
            created = {bookmark.pk for bookmark in candidates if insert(bookmark)}
        if signals.created.has_listeners(self.model):
            new = [
                self.model(**row, updated_at=now, user_group=user_group)
                for row in rows
                if row["id"] in created
            ]
            announce(signals.created, new, self.db)
        return created

    def change_many(self, wanted: Mapping[UniqueKey, Mapping[str, Any]]) -> int:
        """Update the bookmarks with these unique keys to the values, by field
        name, that ``wanted`` has for each.

        Return the number of bookmarks that changed. Call this in a
        transaction, on the bookmarks of one user group.
        """
        found = self.by_unique_key(wanted).items()
        keys = [
            bookmark.pk
            for key, bookmark in found
            if _differences(bookmark, wanted[key])
        ]
        changed: dict[frozenset[str], list[Bookmark]] = defaultdict(list)
        now = timezone.now()
        # All transactions lock several bookmarks in this order, so that they
        # do not deadlock.
        for bookmark in (
            self.filter(pk__in=keys).select_for_update().order_by("pk") if keys else ()
        ):
            # Another transaction may have changed the bookmark before it was
            # locked.
            if changes := _differences(bookmark, wanted.get(bookmark.unique_key, {})):
                for name, value in changes.items():
                    setattr(bookmark, name, value)
                bookmark.updated_at = now
                changed[frozenset(changes)].append(bookmark)
        for names, bookmarks in changed.items():
            self.bulk_update(bookmarks, [*names, "updated_at"], MAX_UPDATED)
            announce_update(bookmarks, self.db, names)
        return sum(map(len, changed.values()))

    def by_unique_key(self, keys: Iterable[UniqueKey]) -> dict[UniqueKey, "Bookmark"]:
        """Return the bookmarks with these unique keys, by key, without reading
        others with the same URLs.
        """
        by_collection = defaultdict(list)
        for collection, digest in keys:
            by_collection[collection].append(digest)
        conditions = [
            Q(collection_key=key, url_digest__in=digests)
            for key, digests in by_collection.items()
        ]
        found: dict[UniqueKey, Bookmark] = {}
        for start in range(0, len(conditions), MAX_CONDITIONS):
            condition = Q(*conditions[start : start + MAX_CONDITIONS], _connector=Q.OR)
            rows = self.alias(collection_key=COLLECTION_KEY).filter(condition)
            found |= {bookmark.unique_key: bookmark for bookmark in rows}
        return found


def _differences(bookmark: "Bookmark", values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values, by field name, that differ from those of the
    bookmark.
    """
    return {
        name: value
        for name, value in values.items()
        if value != getattr(bookmark, name)
    }


class CompiledInsert(CompiledStatement["Bookmark"]):
    """Inserts a bookmark unless it conflicts with an existing row.

    Call ``insert()``, not the instance itself.
    """

    def __init__(self, model: "type[Bookmark]", using: str) -> None:
        quote, fields = (
            connections[using].ops.quote_name,
            cast(Any, model._meta.concrete_fields),
        )
        columns = [quote(field.column) for field in fields]
        values = ", ".join(["%s"] * len(columns))
        into = f"INSERT INTO {quote(model._meta.db_table)} ({', '.join(columns)})"
        sql = f"{into} VALUES ({values}) ON CONFLICT DO NOTHING RETURNING 1"
        super().__init__(model, using, sql, params=())

    def insert(self, bookmark: "Bookmark") -> bool:
        """Insert a bookmark and return True, or return False if it conflicts
        with an existing row.
        """
        connection, params = connections[self.using], []
        for field in self.model._meta.concrete_fields:
            params.append(
                field.get_db_prep_save(field.pre_save(bookmark, add=True), connection)
            )
        if not self.execute(connection, params):
            return False
        bookmark._state.adding, bookmark._state.db = False, self.using
        return True


@cache
def _compiled_insert(model: "type[Bookmark]", using: str) -> CompiledInsert:
    return CompiledInsert(model, using)


@cache
def _select_by_unique_key(queryset: Any, model: Any, using: str) -> CompiledSelect[Any]:
    """Return the compiled statement that reads a bookmark by its user group
    and its unique key.
    """
    given = parameters(model, "user_group", "url_digest", "collection")
    rows = queryset(model, using=using).alias(collection_key=COLLECTION_KEY)
    return CompiledSelect(rows.filter(collection_key=given.pop("collection"), **given))


class CollectionQuerySet(PublicIdQuerySet["Collection"]):
    def by_public_id(self, public_ids: Iterable[object]) -> dict[object, "Collection"]:
        """Return the collections with these ids, by id, in at most one query."""
        keys = {key for public_id in public_ids if (key := parse_public_id(public_id))}
        return {str(key): collection for key, collection in self.in_bulk(keys).items()}

    def add(self, user_group: UserGroup, name: str) -> "Collection":
        """Create a collection and return it.

        Raises Duplicate if the group has a collection with this name, and
        IntegrityError if the group is deleted.
        """
        collections = self.for_write()

        def refuse_duplicate() -> None:
            if (
                key := collections.filter(user_group=user_group, name=name)
                .values_list("pk", flat=True)
                .first()
            ):
                raise Duplicate(key)

        return retry_on_conflict(
            lambda: collections.create(user_group=user_group, name=name),
            collections.db,
            refuse_duplicate,
        )

    def get_or_create_many(
        self, user_group: UserGroup, names: Sequence[str]
    ) -> dict[str, "Collection"]:
        """Return the user group's collections with these names, which are
        distinct, by name.

        Create the missing ones, dated in the order of ``names``. Call this in
        a transaction. Raises IntegrityError if another transaction creates one
        of the collections and then deletes it.
        """
        named = self.filter(user_group=user_group, name__in=names)
        found = {collection.name: collection for collection in named}
        if new := [
            self.model(user_group=user_group, name=name)
            for name in names
            if name not in found
        ]:
            # All transactions insert in the same order, so that they do not
            # deadlock.
            self.bulk_create(sorted(new, key=attrgetter("name")), ignore_conflicts=True)
            found = {collection.name: collection for collection in named.all()}
            announce(
                signals.created,
                [each for each in new if found.get(each.name) == each],
                self.db,
            )
            if len(found) < len(names):
                raise IntegrityError(
                    "A collection that another transaction created has been deleted."
                )
        return found

    def duplicate_of(self, **changes: Any) -> UUID | None:
        row = self.get()  # the row to change
        others = (
            self.model.objects.using(self.db)
            .filter(user_group=row.user_group_id)
            .exclude(pk=row.pk)
        )
        return others.filter(**changes).values_list("pk", flat=True).first()

    def dependants(self, keys: Sequence[Any]) -> Iterator[QuerySet[Any]]:
        # without the bookmarks, because their foreign key does not cascade
        yield from super().dependants(keys)
        yield self._bookmarks_of_groups(keys).filter(collection__in=keys)

    def release_dependants(self, keys: Sequence[Any]) -> None:
        """Remove the bookmarks from these collections.

        If bookmarks become duplicates, only the oldest is kept.
        """
        bookmarks = self._bookmarks_of_groups(keys)
        inside, outside = (
            bookmarks.filter(collection__in=keys),
            bookmarks.filter(collection=None),
        )
        same_url = {
            "user_group": OuterRef("user_group"),
            "url_digest": OuterRef("url_digest"),
        }
        is_older = Q(created_at__lt=OuterRef("created_at")) | Q(
            created_at=OuterRef("created_at"), pk__lt=OuterRef("pk")
        )
        older = bookmarks.filter(
            Q(collection=None) | Q(collection__in=keys), is_older, **same_url
        )
        inside.filter(Exists(older)).delete()
        # The bookmarks still inside are the oldest with their URLs. With the
        # IN, SQLite reads them first.
        outside.filter(
            Exists(inside.filter(**same_url)),
            url_digest__in=inside.values("url_digest"),
        ).delete()
        is_announced, now = (
            signals.updated.has_listeners(bookmarks.model),
            timezone.now(),
        )
        released = (
            list(inside.select_for_update().order_by("pk")) if is_announced else []
        )
        inside.update(collection=None, updated_at=now)
        for bookmark in released:
            bookmark.collection, bookmark.updated_at = None, now
        announce_update(released, self.db, ["collection"])

    def _bookmarks_of_groups(self, keys: Sequence[Any]) -> Any:
        """Return all bookmarks of the user groups that have the collections
        with these keys.
        """
        model: Any = self.model._meta.get_field("bookmarks").related_model
        groups = set(
            self.order_by().filter(pk__in=keys).values_list("user_group", flat=True)
        )
        return model.objects.using(self.db).filter(user_group__in=groups)
