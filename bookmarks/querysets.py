"""What can be asked of many bookmarks and collections, and done to them."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
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
from .public_ids import Duplicate, PublicIdQuerySet, key_of
from .release import release

if TYPE_CHECKING:
    from .models import Bookmark, Collection

EXPORT_CHUNK_SIZE = 2000  # rows
NO_COLLECTION = UUID(int=0)  # stands for null, which to a unique index equals nothing
MAX_CONDITIONS = 500  # joined by OR in one query; SQLite refuses 1,000

Identity = tuple[UUID, bytes]
"""Of a group's bookmark: its collection's key and its URL's digest."""


class CollectionQuerySet(PublicIdQuerySet["Collection"], DeletableQuerySet["Collection"]):  # type: ignore[override]
    def by_public_id(self, public_ids: Iterable[object]) -> dict[object, "Collection"]:
        """Return those of the collections that have one of these ids. At most one query."""
        keys = {key for public_id in public_ids if (key := key_of(public_id))}
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

    def has_rival(self, **changes: Any) -> bool:
        own = self.get()
        return self.model.objects.filter(user_group=own.user_group_id, **changes).exclude(pk=own.pk).exists()

    def has_few_dependants(self, keys: Sequence[Any]) -> bool:
        bookmarks = self._bookmarks().filter(collection__in=keys)
        return bookmarks[: deletion.CHUNK_SIZE + 1].count() <= deletion.CHUNK_SIZE and super().has_few_dependants(keys)

    def delete_chunk(self, keys: Sequence[Any]) -> bool:
        """Release up to CHUNK_SIZE bookmarks of these collections; return whether there are more."""
        released = release(self._bookmarks(), keys, deletion.CHUNK_SIZE)
        return released == deletion.CHUNK_SIZE or super().delete_chunk(keys)

    def _delete_rows(self, keys: Sequence[Any]) -> tuple[int, dict[str, int]]:
        self.delete_chunk(keys)
        return super()._delete_rows(keys)

    def _bookmarks(self) -> Any:
        model: Any = self.model._meta.get_field("bookmarks").related_model
        return model.objects.using(self.db)


class BookmarkQuerySet(PublicIdQuerySet["Bookmark"]):
    def of_url(self, url: str) -> "BookmarkQuerySet":
        """Filter by URL. Raises ValueError if it is not valid."""
        return self.filter(url_digest=web_url.digest(url))

    def for_export(self) -> Iterator["Bookmark"]:
        """Yield them with their collections, collection by collection and oldest first, without holding them all."""
        rows = self.select_related("collection").order_by(F("collection_id").asc(nulls_first=True), "created_at", "pk")
        for bookmark in rows.iterator(chunk_size=EXPORT_CHUNK_SIZE):
            bookmark.collection = bookmark.visible_collection
            yield bookmark

    def in_none(self) -> "BookmarkQuerySet":
        """Filter by having no collection, or one that was deleted and has not released them yet."""
        return self.filter(Q(collection=None) | Q(collection__deleted_at__isnull=False))

    def add(
        self, *, user_group: UserGroup, url: str, collection: "Collection | None" = None, **fields: Any
    ) -> tuple["Bookmark", bool]:
        """Return the group's bookmark of ``url`` in ``collection`` and whether it was created, with ``fields``.

        Raises ValueError if the URL is invalid or the collection is another group's, and IntegrityError if the group
        or the collection is deleted.
        """
        if collection is not None and collection.user_group_id != user_group.pk:
            raise ValueError("The collection is another group's.")
        bookmarks = self.for_write()

        def create() -> "tuple[Bookmark, bool]":
            return bookmarks.create(user_group=user_group, url=url, collection=collection, **fields), True

        def existing() -> "tuple[Bookmark, bool] | None":
            rows = bookmarks.select_related("collection").filter(user_group=user_group, collection=collection)
            same = rows.of_url(url).first()
            return (same, False) if same else None

        return retry_on_conflict(create, bookmarks.db, existing)

    def has_rival(self, **changes: Any) -> bool:
        own = self.get()
        same = self.model.objects.filter(user_group=own.user_group_id, url_digest=own.url_digest)
        return same.filter(collection=changes.get("collection")).exclude(pk=own.pk).exists()

    def add_many(self, user_group: UserGroup, items: Sequence[dict[str, Any]]) -> list[tuple["Bookmark", bool]]:
        """Do for each item, the fields of a bookmark, what ``add`` does, with one INSERT for all, or for none."""
        bookmarks = self.for_write().filter(user_group=user_group)
        wanted = [(bookmark.identity, bookmark) for bookmark in (self.model(user_group=user_group, **i) for i in items)]
        new = dict(reversed(wanted))
        found = retry_on_conflict(lambda: bookmarks._add_many(new), bookmarks.db)
        results = []
        for identity, _ in wanted:
            made = new.pop(identity, None)
            results.append((found[identity], made is not None and made.pk == found[identity].pk))
        return results

    def _add_many(self, new: dict[Identity, "Bookmark"]) -> dict[Identity, "Bookmark"]:
        # In an order that all calls keep, so that no two of them wait for each other.
        self.bulk_create([new[identity] for identity in sorted(new)], ignore_conflicts=True)
        keys = [bookmark.pk for bookmark in new.values()]
        created = set(self.filter(pk__in=keys).values_list("pk", flat=True))
        found = {identity: bookmark for identity, bookmark in new.items() if bookmark.pk in created}
        found |= self.by_identity(new.keys() - found.keys())
        if new.keys() - found.keys():
            raise IntegrityError("A conflicting bookmark was deleted before it could be read.")
        return found

    def by_identity(self, identities: Iterable[Identity]) -> dict[Identity, "Bookmark"]:
        """Return the bookmarks with these identities. Only these rows are read, however often their URLs are stored."""
        digests = defaultdict(list)
        for collection, digest in identities:
            digests[collection].append(digest)
        conditions = [Q(place=collection, url_digest__in=those) for collection, those in digests.items()]
        place = Coalesce("collection_id", Value(NO_COLLECTION), output_field=UUIDField())  # as the unique index has it
        found: dict[Identity, Bookmark] = {}
        for start in range(0, len(conditions), MAX_CONDITIONS):
            condition = Q(*conditions[start : start + MAX_CONDITIONS], _connector=Q.OR)
            rows = self.select_related("collection").alias(place=place).filter(condition)
            found |= {bookmark.stored_identity: bookmark for bookmark in rows}
        return found
