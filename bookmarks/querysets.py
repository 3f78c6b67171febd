"""What can be asked of many bookmarks and collections, and done to them."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any
from uuid import UUID

from django.db import IntegrityError
from django.db.models import Exists, F, OuterRef, Q

from usergroups.models import UserGroup
from usergroups.transactions import retry_on_conflict

from . import web_url
from .public_ids import Duplicate, PublicIdQuerySet, key_of

if TYPE_CHECKING:
    from .models import Bookmark, Collection

EXPORT_CHUNK_SIZE = 2000  # rows
NO_COLLECTION = UUID(int=0)  # stands for null, which to a unique index equals nothing

Identity = tuple[UUID, bytes]
"""Of a group's bookmark: its collection's key and its URL's digest."""


class CollectionQuerySet(PublicIdQuerySet["Collection"]):
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

    def delete(self) -> tuple[int, dict[str, int]]:
        """Delete them and keep their bookmarks, in none; of those that become the same, the oldest one."""
        collections = self.for_write()
        return retry_on_conflict(collections._release_and_delete, collections.db)

    def _release_and_delete(self) -> tuple[int, dict[str, int]]:
        # Lock the collections first, so that a concurrent insert into one of them waits and then fails.
        keys = list(self.select_for_update().order_by("pk").values_list("pk", flat=True))
        bookmarks: Any = self.model._meta.get_field("bookmarks").related_model
        own = bookmarks.objects.using(self.db).filter(collection__in=keys)
        rivals = bookmarks.objects.using(self.db).filter(
            Q(collection__in=keys) | Q(collection=None), user_group__in=own.values("user_group")
        )
        same = rivals.filter(user_group=OuterRef("user_group"), url_digest=OuterRef("url_digest"))
        older = Q(created_at__lt=OuterRef("created_at")) | Q(created_at=OuterRef("created_at"), pk__lt=OuterRef("pk"))
        rivals.filter(Exists(same.filter(older)), url_digest__in=own.values("url_digest")).delete()
        own.update(collection=None)
        return super(CollectionQuerySet, self.filter(pk__in=keys)).delete()


class BookmarkQuerySet(PublicIdQuerySet["Bookmark"]):
    def of_url(self, url: str) -> "BookmarkQuerySet":
        """Those with the same URL. Raises ValueError if it is none."""
        return self.filter(url_digest=web_url.digest(url))

    def containing(self, text: str) -> "BookmarkQuerySet":
        """Those whose URL or title contains the text, in any letter case; to SQLite's LIKE only ASCII has two."""
        pattern = re.escape(text)
        return self.filter(Q(url__iregex=pattern) | Q(title__iregex=pattern))

    def for_export(self) -> Iterator["Bookmark"]:
        """Yield them with their collections, collection by collection and oldest first, without holding them all."""
        rows = self.select_related("collection").order_by(F("collection_id").asc(nulls_first=True), "created_at", "pk")
        return rows.iterator(chunk_size=EXPORT_CHUNK_SIZE)

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
            same = bookmarks.filter(user_group=user_group, collection=collection).of_url(url).first()
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
        there = self.filter(url_digest__in={digest for _, digest in new})
        found = {(row.collection_id or NO_COLLECTION, bytes(row.url_digest)): row for row in there}
        if new.keys() - found.keys():
            raise IntegrityError("What was in the way of a new bookmark is gone by now.")
        return found
