"""Querysets of bookmarks and collections, with the rules for creating, changing and deleting them."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from uuid import UUID

from django.db import IntegrityError
from django.db.models import F, Q, UUIDField, Value
from django.db.models.functions import Coalesce

from usergroups import deletion
from usergroups.deletion import DeletableQuerySet
from usergroups.models import UserGroup
from usergroups.transactions import retry_on_conflict

from . import web_url
from .collection_deletion import remove_from_collections
from .public_ids import Duplicate, PublicIdQuerySet, parse_public_id

if TYPE_CHECKING:
    from .models import Bookmark, Collection

EXPORT_CHUNK_SIZE = 2000  # rows
NO_COLLECTION = UUID(int=0)  # replaces null in the unique index, in which two nulls would not be equal
MAX_CONDITIONS = 500  # joined by OR in one query; SQLite refuses 1,000

UniqueKey = tuple[UUID, bytes]
"""The key that is unique within a user group: a bookmark's collection, or NO_COLLECTION, and the digest of its URL."""


class CollectionQuerySet(PublicIdQuerySet["Collection"], DeletableQuerySet["Collection"]):  # type: ignore[override]
    def by_public_id(self, public_ids: Iterable[object]) -> dict[object, "Collection"]:
        """Return the collections with these ids, by id, in at most one query."""
        keys = {key for public_id in public_ids if (key := parse_public_id(public_id))}
        return {str(key): collection for key, collection in self.in_bulk(keys).items()}

    def add(self, user_group: UserGroup, name: str) -> "Collection":
        """Create a collection and return it.

        Raises Duplicate if the group has a collection with this name, and IntegrityError if the group is deleted.
        """
        collections = self.for_write()

        def refuse_duplicate() -> None:
            if collections.filter(user_group=user_group, name=name).exists():
                raise Duplicate

        return retry_on_conflict(
            lambda: collections.create(user_group=user_group, name=name), collections.db, refuse_duplicate
        )

    def would_be_duplicate(self, **changes: Any) -> bool:
        own = self.get()
        return self.model.objects.filter(user_group=own.user_group_id, **changes).exclude(pk=own.pk).exists()

    def has_few_dependants(self, keys: Sequence[Any]) -> bool:
        bookmarks = self._bookmarks().filter(collection__in=keys)
        return bookmarks[: deletion.CHUNK_SIZE + 1].count() <= deletion.CHUNK_SIZE and super().has_few_dependants(keys)

    def delete_chunk(self, keys: Sequence[Any]) -> bool:
        """Remove up to CHUNK_SIZE bookmarks from these collections and return whether there may be more."""
        removed = remove_from_collections(self._bookmarks(), keys, deletion.CHUNK_SIZE)
        return removed == deletion.CHUNK_SIZE or super().delete_chunk(keys)

    def _delete_rows(self, keys: Sequence[Any]) -> tuple[int, dict[str, int]]:
        self.delete_chunk(keys)
        return super()._delete_rows(keys)

    def _bookmarks(self) -> Any:
        model: Any = self.model._meta.get_field("bookmarks").related_model
        return model.objects.using(self.db)


class BookmarkQuerySet(PublicIdQuerySet["Bookmark"]):
    def matching(self, filters: Mapping[str, Any]) -> "BookmarkQuerySet":
        """Filter by ``collection`` (None selects bookmarks without one), ``url`` and ``created_since``, where given."""
        bookmarks = self
        if "collection" in filters:
            collection = filters["collection"]
            bookmarks = bookmarks.filter(collection=collection) if collection else bookmarks.without_collection()
        if "url" in filters:
            bookmarks = bookmarks.with_url(filters["url"])
        if "created_since" in filters:
            bookmarks = bookmarks.filter(created_at__gte=filters["created_since"])
        return bookmarks

    def with_url(self, url: str) -> "BookmarkQuerySet":
        """Filter by URL, in any equivalent spelling. Raises ValueError if the URL is invalid."""
        return self.filter(url_digest=web_url.digest(url))

    def without_collection(self) -> "BookmarkQuerySet":
        """Exclude bookmarks in collections, except in those that are still being deleted."""
        return self.filter(Q(collection=None) | Q(collection__deleted_at__isnull=False))

    def for_export(self) -> Iterator["Bookmark"]:
        """Yield the bookmarks ordered by collection, oldest first, in constant memory."""
        rows = self.select_related("collection").order_by(F("collection_id").asc(nulls_first=True), "created_at", "pk")
        for bookmark in rows.iterator(chunk_size=EXPORT_CHUNK_SIZE):
            bookmark.collection = bookmark.visible_collection
            yield bookmark

    def add(
        self, *, user_group: UserGroup, url: str, collection: "Collection | None" = None, **fields: Any
    ) -> tuple["Bookmark", bool]:
        """Get or create the user group's bookmark of ``url`` in ``collection``. Return it and whether it was created.

        ``fields`` are set only if it is created. Raises ValueError if the URL is invalid or the collection belongs to
        another user group, and IntegrityError if the user group or the collection is deleted.
        """
        if collection is not None and collection.user_group_id != user_group.pk:
            raise ValueError("The collection belongs to another user group.")
        bookmarks = self.for_write()

        def create() -> "tuple[Bookmark, bool]":
            return bookmarks.create(user_group=user_group, url=url, collection=collection, **fields), True

        def existing() -> "tuple[Bookmark, bool] | None":
            rows = bookmarks.select_related("collection").filter(user_group=user_group, collection=collection)
            bookmark = rows.with_url(url).first()
            return (bookmark, False) if bookmark else None

        return retry_on_conflict(create, bookmarks.db, existing)

    def would_be_duplicate(self, **changes: Any) -> bool:
        own = self.get()
        same = self.model.objects.filter(user_group=own.user_group_id, url_digest=own.url_digest)
        return same.filter(collection=changes.get("collection")).exclude(pk=own.pk).exists()

    def add_many(self, user_group: UserGroup, items: Sequence[dict[str, Any]]) -> list[tuple["Bookmark", bool]]:
        """Do what ``add`` does for each item, a dict of a bookmark's fields, with one INSERT for all of them.

        Return the results in the items' order. Either all items are stored or none.
        """
        bookmarks = self.for_write().filter(user_group=user_group)
        candidates = [self.model(user_group=user_group, **item) for item in items]
        keys = [candidate.unique_key for candidate in candidates]
        new = dict(zip(reversed(keys), reversed(candidates), strict=True))  # of duplicates, the first
        stored = retry_on_conflict(lambda: bookmarks._add_many(new), bookmarks.db)
        return [(stored[key], stored[key].pk == own.pk) for key, own in zip(keys, candidates, strict=True)]

    def _add_many(self, new: dict[UniqueKey, "Bookmark"]) -> dict[UniqueKey, "Bookmark"]:
        # All transactions insert in the same order, so that they do not deadlock.
        self.bulk_create([new[key] for key in sorted(new)], ignore_conflicts=True)
        created = set(self.filter(pk__in=[bookmark.pk for bookmark in new.values()]).values_list("pk", flat=True))
        stored = {key: bookmark for key, bookmark in new.items() if bookmark.pk in created}
        stored |= self.by_unique_key(new.keys() - stored.keys())
        if new.keys() - stored.keys():
            raise IntegrityError("A conflicting bookmark was deleted before it could be read.")
        return stored

    def by_unique_key(self, keys: Iterable[UniqueKey]) -> dict[UniqueKey, "Bookmark"]:
        """Return the bookmarks with these unique keys. No other rows are read, even if they have the same URLs."""
        digests = defaultdict(list)
        for collection, digest in keys:
            digests[collection].append(digest)
        conditions = [Q(place=collection, url_digest__in=those) for collection, those in digests.items()]
        place = Coalesce("collection_id", Value(NO_COLLECTION), output_field=UUIDField())  # as in the unique index
        found: dict[UniqueKey, Bookmark] = {}
        for start in range(0, len(conditions), MAX_CONDITIONS):
            condition = Q(*conditions[start : start + MAX_CONDITIONS], _connector=Q.OR)
            rows = self.select_related("collection").alias(place=place).filter(condition)
            found |= {bookmark.unique_key: bookmark for bookmark in rows}
        return found
