"""The queryset of bookmarks."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from django.db.models import Q

from bookmarks import web_url
from usergroups.models import UserGroup
from usergroups.transactions import retry_on_conflict

from .batches import BookmarkBatchQuerySet

if TYPE_CHECKING:
    from bookmarks.models import Bookmark, Collection


class BookmarkQuerySet(BookmarkBatchQuerySet):
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

    def change(self, public_id: object, versions: Sequence[datetime] | None = None, **changes: Any) -> "Bookmark":
        """Update only the given fields and return the bookmark, as ``PublicIdQuerySet.change`` does.

        Raises ValueError if the new URL is invalid.
        """
        if "url" in changes:
            changes["url_digest"] = web_url.digest(changes["url"])
        return super().change(public_id, versions, **changes)

    def would_be_duplicate(self, **changes: Any) -> bool:
        own = self.get()
        key = {name: changes.get(name, getattr(own, name)) for name in ("url_digest", "collection")}
        return self.model.objects.using(self.db).filter(user_group=own.user_group_id, **key).exclude(pk=own.pk).exists()
