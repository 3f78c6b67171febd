"""The querysets of bookmarks and collections."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import UUID

from django.db import IntegrityError, connections
from django.db.models import (
    Exists,
    OuterRef,
    ProtectedError,
    Q,
    QuerySet,
    RestrictedError,
    UUIDField,
    Value,
)
from django.db.models.functions import Coalesce
from django.utils import timezone

from usergroups import signals
from usergroups.db.announcements import announce, announce_update
from usergroups.db.compiled_statements import (
    CompiledStatement,
    compile_select,
    parameters,
)
from usergroups.db.deletion import ProtectingError, TooManyDependants
from usergroups.db.retry import retry_on_conflict
from usergroups.models import UserGroup

from . import json_statements, web_url
from .public_ids import Duplicate, PublicIdQuerySet, parse_public_id
from .tags import MAX_TAGS, clean_tags, distinct

if TYPE_CHECKING:
    from bookmarks.models import Bookmark, Collection

# replaces NULL in the unique index, which treats NULLs as different
NO_COLLECTION = UUID(int=0)
# joined by OR in one query; SQLite raises an error for 1,000
MAX_CONDITIONS = 500

COLLECTION_KEY = Coalesce(
    "collection_id", Value(NO_COLLECTION), output_field=UUIDField()
)
"""A bookmark's collection, or NO_COLLECTION, as in the unique index."""

UniqueKey = tuple[UUID, bytes]
"""The key that is unique within a user group: a bookmark's collection, or
NO_COLLECTION, and the digest of its URL.
"""

MAX_FOUND = 100_000
"""The maximum number of ids that ``find_by_urls`` returns.

A URL may be in any number of collections, and given a thousand times.
"""

MAX_MERGED = 1_000
"""The maximum number of bookmarks that ``merge_into`` moves."""

CONFLICT_DELETED = "A conflicting bookmark was deleted before it could be read."

INSERT_ROW = "INSERT INTO {table} ({columns}) VALUES ({values}) ON CONFLICT DO NOTHING"

UPDATABLE = ("title", "tags", "note")
"""The fields of existing bookmarks that a batch may update."""


class TooManyFound(Exception):
    """More than MAX_FOUND ids belong to URLs."""


class Merged(NamedTuple):
    """What a merge of collections did, in numbers of bookmarks."""

    moved: int
    duplicates: int
    """Those that were deleted."""


class Stored(NamedTuple):
    """What a batch of bookmarks did for an item."""

    bookmark: "Bookmark"
    created: bool
    changed: bool
    """Whether the bookmark was created or changed."""


class BookmarkQuerySet(PublicIdQuerySet["Bookmark"]):
    """Reads and writes the bookmarks of a user group."""

    def filter_by_query(
        self, user_group: UserGroup, query: Mapping[str, Any]
    ) -> "BookmarkQuerySet":
        """Filter by user group, and by ``collection`` (None for none) and
        ``url``, where given.
        """
        bookmarks = self.filter(user_group=user_group)
        if "collection" in query:
            bookmarks = bookmarks.filter(collection=query["collection"])
        if "url" in query:
            bookmarks = bookmarks.filter(url_digest=web_url.digest(query["url"]))
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

        ``fields`` are set only if it is created. Raises ValidationError if a
        value is invalid or the collection belongs to another user group, and
        IntegrityError if the user group or the collection is deleted.
        """
        bookmarks = self.for_write()
        bookmark = self._new(user_group, url=url, collection=collection, **fields)

        def get_or_insert() -> "tuple[Bookmark, bool]":
            if bookmarks._insert_unless_exists(bookmark):
                return bookmark, True
            key = bookmark.unique_key
            existing = bookmarks._find_by_unique_key(user_group, key)
            if existing is None:
                raise IntegrityError(CONFLICT_DELETED)
            return existing, False

        # It writes with a single statement.
        return retry_on_conflict(get_or_insert, bookmarks.db, atomic=False)

    def _insert_unless_exists(self, bookmark: "Bookmark") -> bool:
        """Insert a bookmark unless another one has its unique key. Return
        whether it was inserted.

        Django's save() would raise an IntegrityError for a bookmark that
        exists already, which PostgreSQL logs, and which leaves a dead row.
        """
        connection = connections[self.db]
        quote = connection.ops.quote_name
        options: Any = self.model._meta
        columns = []
        values = []
        for field in options.concrete_fields:
            columns.append(quote(field.column))
            value = field.pre_save(bookmark, add=True)
            values.append(field.get_db_prep_save(value, connection))
        sql = INSERT_ROW.format(
            table=quote(options.db_table),
            columns=", ".join(columns),
            values=", ".join(["%s"] * len(values)),
        )
        with connection.cursor() as cursor:
            cursor.execute(sql, values)
            if cursor.rowcount == 0:
                return False
        bookmark._state.adding = False
        bookmark._state.db = self.db
        announce(signals.created, [bookmark], self.db)
        return True

    def _new(self, user_group: UserGroup, *, url: str, **fields: Any) -> "Bookmark":
        """Return an unsaved bookmark.

        Raises ValidationError if a value is invalid or the collection belongs
        to another user group.
        """
        valid_url = web_url.clean(url)
        if "tags" in fields:
            fields["tags"] = clean_tags(fields["tags"])
        bookmark = self.model(user_group=user_group, url=valid_url, **fields)
        bookmark.validate_fields(["url", "title", "note"])
        bookmark.clean()
        return bookmark

    def update_by_id(
        self,
        user_group: UserGroup,
        public_id: object,
        versions: Sequence[datetime] | None = None,
        **changes: Any,
    ) -> "Bookmark":
        if "url" in changes:
            url = web_url.clean(changes["url"])
            changes |= {"url": url, "url_digest": url.digest}
        if "tags" in changes:
            changes["tags"] = clean_tags(changes["tags"])
        return super().update_by_id(user_group, public_id, versions, **changes)

    def _find_duplicate(
        self, user_group: UserGroup, changes: Mapping[str, Any]
    ) -> UUID | None:
        changed = self.get()
        for name, value in changes.items():
            setattr(changed, name, value)
        others = self.model.objects.using(self.db).exclude(pk=changed.pk)
        duplicates = others._by_unique_key(user_group, [changed.unique_key])
        return duplicates[changed.unique_key].pk if duplicates else None

    def move_by_ids(
        self,
        user_group: UserGroup,
        public_ids: Sequence[object],
        collection: "Collection | None",
    ) -> "list[tuple[Bookmark | Duplicate | None, bool]]":
        """Move bookmarks to ``collection``, or out of their collections if it
        is None. Return a result for each id, and whether its bookmark moved.

        A result is the bookmark after the move, None if there is no such
        bookmark, or a Duplicate if another bookmark with its URL is in the
        collection. Raises IntegrityError if the collection is deleted.
        """
        keys: list[Any] = [parse_public_id(public_id) for public_id in public_ids]
        bookmarks = self.for_write().filter(user_group=user_group)
        results, moved = retry_on_conflict(
            lambda: bookmarks._move(user_group, keys, collection), bookmarks.db
        )
        outcomes = []
        for key in keys:
            outcomes.append((results.get(key), key in moved))
            # A repeated id is reported as moved only once.
            moved.discard(key)
        return outcomes

    def _move(
        self,
        user_group: UserGroup,
        keys: Sequence[Any],
        collection: "Collection | None",
    ) -> "tuple[dict[UUID | None, Bookmark | Duplicate], set[UUID]]":
        """Do what ``move_by_ids`` does, in the current transaction.

        Return the results by key, and the keys of the bookmarks that moved.
        """
        rows = self.select_related(None).filter(pk__in=keys)
        found = {row.pk: row for row in rows.select_for_update().order_by("pk")}
        new_collection = collection.pk if collection else NO_COLLECTION
        new_keys = {
            key: (new_collection, bytes(bookmark.url_digest))
            for key, bookmark in found.items()
        }
        present = self._by_unique_key(user_group, new_keys.values())
        owners = {unique_key: bookmark.pk for unique_key, bookmark in present.items()}
        results: dict[UUID | None, Any] = {}
        for key in keys:
            if key not in found:
                continue
            # The first of several bookmarks with the same URL becomes the
            # owner of their unique key.
            owner = owners.setdefault(new_keys[key], key)
            results[key] = found[key] if owner == key else Duplicate(owner)
        # after the move
        inside = [each for each in results.values() if not isinstance(each, Duplicate)]
        moved = [
            bookmark
            for bookmark in inside
            if (bookmark.collection_id or NO_COLLECTION) != new_collection
        ]
        now = timezone.now()
        to_move = self.filter(pk__in=[bookmark.pk for bookmark in moved])
        to_move.update(collection=collection, updated_at=now)
        for bookmark in moved:
            bookmark.updated_at = now
        for bookmark in inside:
            bookmark.collection = collection
        announce_update(moved, self.db, ["collection"])
        return results, {bookmark.pk for bookmark in moved}

    def delete_by_ids(
        self, user_group: UserGroup, public_ids: Sequence[object]
    ) -> list[bool | ProtectingError]:
        """Delete bookmarks and return, in order, whether each existed.

        Return the error for a bookmark that cannot be deleted, because rows of
        the host project refer to it.
        """
        keys: list[Any] = [parse_public_id(public_id) for public_id in public_ids]
        bookmarks = self.for_write().filter(user_group=user_group, pk__in=keys)

        def delete() -> set[UUID]:
            locked = bookmarks.select_for_update().order_by("pk")
            found = set(locked.values_list("pk", flat=True))
            bookmarks.filter(pk__in=found)._delete()
            return found

        try:
            deleted = retry_on_conflict(delete, bookmarks.db)
        except (ProtectedError, RestrictedError):
            return [self._try_to_delete(user_group, each) for each in public_ids]
        existed: list[bool | ProtectingError] = []
        for key in keys:
            existed.append(key in deleted)
            # A repeated id is reported as deleted only once.
            deleted.discard(key)
        return existed

    def _try_to_delete(
        self, user_group: UserGroup, public_id: object
    ) -> bool | ProtectingError:
        """Delete one bookmark, and return what ``delete_by_ids`` returns for
        it.
        """
        try:
            self.delete_by_id(user_group, public_id)
        except self.model.DoesNotExist:
            return False
        except (ProtectedError, RestrictedError) as error:
            return error
        return True

    def add_many(
        self,
        user_group: UserGroup,
        items: Sequence[Mapping[str, Any]],
        *,
        update: bool = False,
    ) -> list[Stored]:
        """Do what ``add`` does for each item, a dict of a bookmark's fields,
        and return the results in their order.

        With ``update``, existing bookmarks get the titles, tags and notes in
        their items. If several items have the same bookmark, later values
        override earlier ones.

        PostgreSQL runs one INSERT for all items. Either all of them are stored
        or none.
        """
        bookmarks = self.for_write()
        now = timezone.now()
        defaults = {"created_at": now, "updated_at": now}
        candidates = [self._new(user_group, **{**defaults, **item}) for item in items]
        keys = [candidate.unique_key for candidate in candidates]
        new: dict[UniqueKey, Bookmark] = {}
        wanted: dict[UniqueKey, dict[str, Any]] = {}
        for key, candidate, item in zip(keys, candidates, items, strict=True):
            # keeps the first of several duplicates
            new.setdefault(key, candidate)
            if not update:
                continue
            sent = {name: getattr(candidate, name) for name in item.keys() & UPDATABLE}
            wanted.setdefault(key, {}).update(sent)
            for name, value in sent.items():
                setattr(new[key], name, value)
        stored, changed = retry_on_conflict(
            lambda: bookmarks._add_many(user_group, new, wanted, now), bookmarks.db
        )
        results = []
        for key, candidate in zip(keys, candidates, strict=True):
            created = stored[key].pk == candidate.pk
            results.append(Stored(stored[key], created, created or key in changed))
            # Only the first item of a bookmark counts as its write.
            changed.discard(key)
        return results

    def _add_many(
        self,
        user_group: UserGroup,
        new: dict[UniqueKey, "Bookmark"],
        wanted: Mapping[UniqueKey, Mapping[str, Any]],
        now: datetime,
    ) -> tuple[dict[UniqueKey, "Bookmark"], set[UniqueKey]]:
        """Insert the bookmarks in ``new``, unless they exist already, and
        update those that exist to the values, by field name, in ``wanted``.

        Return the stored ones by their keys, and the keys of those that were
        updated.
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
            bookmark._state.adding = False
            bookmark._state.db = self.db
        missing = new.keys() - stored.keys()
        existing = self._by_unique_key(user_group, missing, lock=bool(wanted))
        if len(stored) + len(existing) < len(new):
            raise IntegrityError(CONFLICT_DELETED)
        changed = self._update_locked(user_group, existing, wanted, replace)
        return stored | existing, {bookmark.unique_key for bookmark in changed}

    def insert_missing(
        self, user_group: UserGroup, rows: Sequence[Mapping[str, Any]], now: datetime
    ) -> set[UUID]:
        """Insert the rows whose unique keys no bookmark of the user group has,
        and return the ids of these rows.

        Each row has the values of all columns by name, except the user group
        and ``updated_at``, which becomes ``now``. Call this in a transaction.
        """
        if not rows:
            return set()
        # All transactions insert in the same order, so that they do not
        # deadlock.
        ordered = sorted(
            rows,
            key=lambda row: (row["url_digest"], row["collection_id"] or NO_COLLECTION),
        )
        if connections[self.db].vendor == "postgresql":
            created = json_statements.insert_rows(self, user_group, ordered, now)
        else:
            bookmarks = self._instances(user_group, ordered, now)
            self.bulk_create(bookmarks, ignore_conflicts=True)
            keys = [bookmark.pk for bookmark in bookmarks]
            found = self.filter(user_group=user_group, pk__in=keys)
            created = set(found.values_list("pk", flat=True))
        if signals.created.has_listeners(self.model):
            new = [row for row in rows if row["id"] in created]
            announce(signals.created, self._instances(user_group, new, now), self.db)
        return created

    def _instances(
        self, user_group: UserGroup, rows: Iterable[Mapping[str, Any]], now: datetime
    ) -> list["Bookmark"]:
        """Return instances with the values of ``insert_missing``'s rows."""
        shared = {"user_group": user_group, "updated_at": now}
        return [self.model(**row, **shared) for row in rows]

    def find_by_urls(
        self, user_group: UserGroup, urls: Sequence[str]
    ) -> list[list[UUID]]:
        """Return, for each URL, the ids of the user group's bookmarks with it,
        in one query.

        Raises ValueError if a URL is invalid, and TooManyFound.
        """
        digests = [web_url.digest(url) for url in urls]
        found = self.filter(user_group=user_group, url_digest__in=digests)
        rows = found.values_list("pk", "url_digest")[: MAX_FOUND + 1]
        ids = defaultdict(list)
        # With LIMIT and ORDER BY, PostgreSQL might read the whole table in the
        # order of its primary key.
        for key, digest in sorted(rows):
            ids[bytes(digest)].append(key)
        found_ids = [ids[digest] for digest in digests]
        if sum(map(len, found_ids)) > MAX_FOUND:
            raise TooManyFound
        return found_ids

    def update_by_unique_key(
        self, user_group: UserGroup, wanted: Mapping[UniqueKey, Mapping[str, Any]]
    ) -> tuple[int, int]:
        """Update the user group's bookmarks with these unique keys to the
        values, by field name, that ``wanted`` has for each. Add its tags to
        those of the bookmark, and do not replace a note.

        Return the number of bookmarks that changed, and of tags that were not
        added because a bookmark has at most MAX_TAGS. Call this in a
        transaction.
        """
        dropped_tags = 0

        def add_to(bookmark: "Bookmark", values: Mapping[str, Any]) -> dict[str, Any]:
            nonlocal dropped_tags
            current = {"tags": bookmark.tags, "note": bookmark.note}
            merged, dropped = merge(current, values)
            dropped_tags += dropped
            return merged

        existing = self._by_unique_key(user_group, wanted, lock=True)
        changed = self._update_locked(user_group, existing, wanted, add_to)
        return len(changed), dropped_tags

    def _update_locked(
        self,
        user_group: UserGroup,
        locked: Mapping[UniqueKey, "Bookmark"],
        wanted: Mapping[UniqueKey, Mapping[str, Any]],
        new_values: "Callable[[Bookmark, Mapping[str, Any]], dict[str, Any]]",
    ) -> "list[Bookmark]":
        """Update those locked bookmarks whose values change, and return them.

        ``new_values`` returns the values to store, by field name, for a
        bookmark and the values that ``wanted`` has for it.
        """
        now = timezone.now()
        changed: list[Bookmark] = []
        # One statement, and one signal, writes the same fields of several
        # bookmarks.
        by_fields: dict[frozenset[str], list[Bookmark]] = defaultdict(list)
        for key, bookmark in locked.items():
            names = set()
            for name, value in new_values(bookmark, wanted.get(key, {})).items():
                if value != getattr(bookmark, name):
                    setattr(bookmark, name, value)
                    names.add(name)
            if names:
                bookmark.updated_at = now
                changed.append(bookmark)
                by_fields[frozenset(names)].append(bookmark)
        for written, bookmarks in by_fields.items():
            self._write_many(user_group, bookmarks, written, now)
            announce_update(bookmarks, self.db, written)
        return changed

    def _write_many(
        self,
        user_group: UserGroup,
        bookmarks: "Sequence[Bookmark]",
        names: Iterable[str],
        now: datetime,
    ) -> None:
        """Write the fields with these names, and ``updated_at``, of the user
        group's bookmarks, which are locked.
        """
        if connections[self.db].vendor != "postgresql":
            of_group = self.filter(user_group=user_group)
            of_group.bulk_update(bookmarks, [*names, "updated_at"])
            return
        rows = []
        for bookmark in bookmarks:
            values = {name: getattr(bookmark, name) for name in names}
            rows.append({"id": bookmark.pk, **values})
        json_statements.update_rows(self, user_group, rows, now)

    def _find_by_unique_key(
        self, user_group: UserGroup, key: UniqueKey
    ) -> "Bookmark | None":
        """Return the user group's bookmark with this unique key, or None."""
        if self.has_filters:
            return self._by_unique_key(user_group, [key]).get(key)
        select = _select_by_unique_key(type(self), self.model, self.db)
        collection, digest = key
        found = select.execute(
            user_group=user_group, collection=collection, url_digest=digest
        )
        return found[0] if found else None

    def _by_unique_key(
        self, user_group: UserGroup, keys: Iterable[UniqueKey], *, lock: bool = False
    ) -> dict[UniqueKey, "Bookmark"]:
        """Return the user group's bookmarks with these unique keys, by key,
        without reading others with the same URLs.

        With ``lock``, lock them until the transaction ends.
        """
        by_collection = defaultdict(list)
        for collection, digest in keys:
            by_collection[collection].append(digest)
        conditions = [
            Q(collection_key=key, url_digest__in=digests)
            for key, digests in by_collection.items()
        ]
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
        found: dict[UniqueKey, Bookmark] = {}
        for start in range(0, len(conditions), size):
            some = conditions[start : start + size]
            for bookmark in bookmarks.filter(Q(*some, _connector=Q.OR)):
                found[bookmark.unique_key] = bookmark
        return found


def merge(
    current: Mapping[str, Any], values: Mapping[str, Any]
) -> tuple[dict[str, Any], int]:
    """Return the values with ``current`` tags before the tags, and without the
    note if there is one already. Also return the number of tags after
    MAX_TAGS, which are dropped.
    """
    merged = dict(values)
    dropped_tags = 0
    if "tags" in merged:
        tags = distinct([*current["tags"], *merged["tags"]])
        merged["tags"] = tags[:MAX_TAGS]
        dropped_tags = len(tags[MAX_TAGS:])
    if current["note"]:
        merged.pop("note", None)
    return merged, dropped_tags


def additions(
    duplicates: "Sequence[Bookmark]", collection: "Collection"
) -> dict[UniqueKey, dict[str, Any]]:
    """Return the tags and the notes of these bookmarks, for
    ``update_by_unique_key`` of those with their URLs in the collection.
    """
    wanted: dict[UniqueKey, dict[str, Any]] = {}
    for each in duplicates:
        key = collection.pk, bytes(each.url_digest)
        values = {"tags": each.tags, "note": each.note}
        first = wanted.setdefault(key, values)
        merged, _dropped_tags = merge(first, values)
        first.update(merged)
    return wanted


def replace(bookmark: "Bookmark", values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values, which replace those of the bookmark."""
    return dict(values)


@cache
def _select_by_unique_key(
    queryset: type[BookmarkQuerySet], model: "type[Bookmark]", using: str
) -> "CompiledStatement[Bookmark]":
    """Return the statement that reads a bookmark by its user group and its
    unique key.
    """
    given = parameters(model, "user_group", "url_digest", "collection")
    key = given.pop("collection")
    rows = queryset(model, using=using).alias(collection_key=COLLECTION_KEY)
    return compile_select(rows.filter(collection_key=key, **given))


class CollectionQuerySet(PublicIdQuerySet["Collection"]):
    """Reads and writes the collections of a user group."""

    def find_by_ids(
        self, user_group: UserGroup, public_ids: Iterable[object]
    ) -> dict[object, "Collection"]:
        """Return the user group's collections with these ids, by id, in at
        most one query.
        """
        keys = {parse_public_id(public_id) for public_id in public_ids}
        found = self.filter(user_group=user_group).in_bulk(keys - {None})
        return {str(key): collection for key, collection in found.items()}

    def add(self, user_group: UserGroup, name: str) -> "Collection":
        """Create a collection and return it.

        Raises ValidationError if the name is invalid, Duplicate if the group
        has a collection with this name, and IntegrityError if the group is
        deleted.
        """
        self.model(name=name).validate_fields(["name"])
        collections = self.for_write()

        def refuse_duplicate() -> None:
            same = collections.filter(user_group=user_group, name=name)
            key = same.values_list("pk", flat=True).first()
            if key is not None:
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
        missing = [name for name in names if name not in found]
        if not missing:
            return found
        new = [self.model(user_group=user_group, name=name) for name in missing]
        # All transactions insert in the same order, so that they do not
        # deadlock.
        self.bulk_create(sorted(new, key=attrgetter("name")), ignore_conflicts=True)
        found = {collection.name: collection for collection in named.all()}
        created = [each for each in new if found.get(each.name) == each]
        announce(signals.created, created, self.db)
        if len(found) < len(names):
            raise IntegrityError(
                "A collection that another transaction created has been deleted."
            )
        return found

    def merge_into(
        self,
        user_group: UserGroup,
        kept: "Collection",
        others: "Sequence[Collection]",
    ) -> Merged:
        """Move the bookmarks of the user group's collections ``others`` to the
        collection ``kept``, and delete the others.

        Of several bookmarks with the same URL, the one that is in ``kept``
        already or else the oldest stays. It gets the tags of the others, and
        the first of their notes if it has none. The others are deleted.

        Raises TooManyDependants if there are more than MAX_MERGED bookmarks to
        move.
        """
        collections = self.for_write().filter(user_group=user_group)
        return retry_on_conflict(
            lambda: collections._merge_into(user_group, kept, others), collections.db
        )

    def _merge_into(
        self,
        user_group: UserGroup,
        kept: "Collection",
        others: "Sequence[Collection]",
    ) -> Merged:
        """Do what ``merge_into`` does, in the current transaction."""
        model: Any = self.model._meta.get_field("bookmarks").related_model
        bookmarks: BookmarkQuerySet = model.objects.using(self.db)
        of_group = bookmarks.filter(user_group=user_group)
        inside = of_group.filter(collection__in=others).order_by("created_at", "pk")
        to_move = list(inside[: MAX_MERGED + 1])
        if len(to_move) > MAX_MERGED:
            raise TooManyDependants(model)
        ids = [str(bookmark.pk) for bookmark in to_move]
        outcomes = bookmarks.move_by_ids(user_group, ids, kept)
        duplicates = []
        for bookmark, (result, _moved) in zip(to_move, outcomes, strict=True):
            if isinstance(result, Duplicate):
                duplicates.append(bookmark)
        bookmarks.update_by_unique_key(user_group, additions(duplicates, kept))
        keys = [bookmark.pk for bookmark in duplicates]
        of_group.filter(pk__in=keys).delete()
        self.filter(pk__in=[other.pk for other in others]).delete()
        return Merged(sum(moved for _result, moved in outcomes), len(duplicates))

    def _find_duplicate(
        self, user_group: UserGroup, changes: Mapping[str, Any]
    ) -> UUID | None:
        changed = self.get()
        collections = self.model.objects.using(self.db)
        others = collections.filter(user_group=user_group).exclude(pk=changed.pk)
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
        inside = bookmarks.filter(collection__in=keys)
        outside = bookmarks.filter(collection=None)
        same_url = {
            "user_group": OuterRef("user_group"),
            "url_digest": OuterRef("url_digest"),
        }
        is_older = Q(created_at__lt=OuterRef("created_at"))
        is_older |= Q(created_at=OuterRef("created_at"), pk__lt=OuterRef("pk"))
        would_be_outside = Q(collection=None) | Q(collection__in=keys)
        older = bookmarks.filter(would_be_outside, is_older, **same_url)
        inside.filter(Exists(older))._delete()
        # The bookmarks still inside are the oldest with their URLs. With the
        # IN, SQLite reads them first.
        outside.filter(
            Exists(inside.filter(**same_url)),
            url_digest__in=inside.values("url_digest"),
        )._delete()
        released = []
        if signals.updated.has_listeners(bookmarks.model):
            released = list(inside.select_for_update().order_by("pk"))
        now = timezone.now()
        inside.update(collection=None, updated_at=now)
        for bookmark in released:
            bookmark.collection = None
            bookmark.updated_at = now
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
