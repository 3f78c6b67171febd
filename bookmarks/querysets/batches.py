"""The bulk operations of the queryset of bookmarks."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any
from uuid import UUID

from django.db import IntegrityError
from django.db.models import Q, UUIDField, Value
from django.db.models.functions import Coalesce
from django.utils import timezone

from bookmarks.public_ids import Duplicate, PublicIdQuerySet, parse_public_id
from usergroups import signals
from usergroups.models import UserGroup
from usergroups.transactions import retry_on_conflict

if TYPE_CHECKING:
    from bookmarks.models import Bookmark, Collection

NO_COLLECTION = UUID(int=0)  # replaces NULL in the unique index, which treats NULLs as different
MAX_CONDITIONS = 500  # joined by OR in one query; SQLite raises an error for 1,000

UniqueKey = tuple[UUID, bytes]
"""The key that is unique within a user group: a bookmark's collection, or NO_COLLECTION, and the digest of its URL."""


class BookmarkBatchQuerySet(PublicIdQuerySet["Bookmark"]):
    """Creates, moves and deletes many bookmarks with a few queries."""

    def move_many(
        self, public_ids: Sequence[object], collection: "Collection | None"
    ) -> "list[Bookmark | type[Duplicate] | None]":
        """Move bookmarks to ``collection`` and return, in order, each bookmark after the move.

        The result is None if there is no such bookmark, and Duplicate if its URL is in the collection already. Raises
        IntegrityError if the collection is deleted.
        """
        keys: list[Any] = [parse_public_id(public_id) for public_id in public_ids]
        bookmarks = self.for_write()
        moved = retry_on_conflict(lambda: bookmarks._move_many(keys, collection), bookmarks.db)
        return [moved.get(key) for key in keys]

    def _move_many(
        self, keys: Sequence[Any], collection: "Collection | None"
    ) -> "dict[UUID | None, Bookmark | type[Duplicate] | None]":
        rows = self.select_related(None).filter(pk__in=keys).select_for_update().order_by("pk")
        found = {bookmark.pk: bookmark for bookmark in rows}
        place = collection.pk if collection else NO_COLLECTION
        wanted = {key: (place, bytes(bookmark.url_digest)) for key, bookmark in found.items()}
        taken = {key: bookmark.pk for key, bookmark in self.by_unique_key(wanted.values()).items()}
        results: dict[UUID | None, Any] = {}
        for key in dict.fromkeys(key for key in keys if key in found):
            results[key] = found[key] if taken.setdefault(wanted[key], key) == key else Duplicate
        moved, now = [bookmark for bookmark in results.values() if bookmark is not Duplicate], timezone.now()
        self.filter(pk__in=[bookmark.pk for bookmark in moved]).update(collection=collection, updated_at=now)
        for bookmark in moved:
            bookmark.collection, bookmark.updated_at = collection, now
        signals.announce_update(moved, self.db, ["collection"])
        return results

    def remove_many(self, public_ids: Sequence[object]) -> list[bool]:
        """Delete bookmarks and return, in order, whether each existed."""
        keys: list[Any] = [parse_public_id(public_id) for public_id in public_ids]
        bookmarks = self.for_write()

        def remove() -> set[UUID]:
            found = set(bookmarks.filter(pk__in=keys).select_for_update().order_by("pk").values_list("pk", flat=True))
            bookmarks.filter(pk__in=found).delete()
            return found

        removed = retry_on_conflict(remove, bookmarks.db)
        existed = []
        for key in keys:
            existed.append(key in removed)
            removed.discard(key)
        return existed

    def add_many(self, user_group: UserGroup, items: Sequence[dict[str, Any]]) -> list[tuple["Bookmark", bool]]:
        """Do what ``add`` does for each item, a dict of a bookmark's fields, with one INSERT for all of them.

        Return the results in the items' order. Either all items are stored or none.
        """
        bookmarks = self.for_write().filter(user_group=user_group)
        candidates = [self.model(user_group=user_group, **item) for item in items]
        keys = [candidate.unique_key for candidate in candidates]
        new = dict(zip(reversed(keys), reversed(candidates), strict=True))  # keeps the first of several duplicates
        stored = retry_on_conflict(lambda: bookmarks._add_many(new), bookmarks.db)
        return [(stored[key], stored[key].pk == own.pk) for key, own in zip(keys, candidates, strict=True)]

    def _add_many(self, new: dict[UniqueKey, "Bookmark"]) -> dict[UniqueKey, "Bookmark"]:
        # All transactions insert in the same order, so that they do not deadlock.
        self.bulk_create([new[key] for key in sorted(new)], ignore_conflicts=True)
        created = set(self.filter(pk__in=[bookmark.pk for bookmark in new.values()]).values_list("pk", flat=True))
        stored = {key: bookmark for key, bookmark in new.items() if bookmark.pk in created}
        signals.announce(signals.created, list(stored.values()), self.db)
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

    def existing_keys(self, keys: Sequence[UniqueKey]) -> set[UniqueKey]:
        """Return the unique keys of bookmarks that are among ``keys``, with one query.

        The result may also have keys of other bookmarks, with a URL and a collection that are among ``keys``.
        """
        collections = {collection for collection, _ in keys}
        place = Q(collection__in=collections - {NO_COLLECTION})
        if NO_COLLECTION in collections:
            place |= Q(collection=None)
        rows = self.filter(place, url_digest__in=[digest for _, digest in keys])
        return {(pk or NO_COLLECTION, bytes(digest)) for pk, digest in rows.values_list("collection", "url_digest")}
