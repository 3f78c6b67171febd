"""The queryset of bookmarks."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING, Any
from uuid import UUID

from django.db import IntegrityError

from bookmarks import web_url
from bookmarks.public_ids import parse_public_id
from usergroups import signals
from usergroups.models import UserGroup
from usergroups.statements import Insert, Select, parameters
from usergroups.transactions import retry_on_conflict

from .batches import PLACE, BookmarkBatchQuerySet

if TYPE_CHECKING:
    from bookmarks.models import Bookmark, Collection


class BookmarkQuerySet(BookmarkBatchQuerySet):
    def matching(self, user_group: UserGroup, filters: Mapping[str, Any]) -> "BookmarkQuerySet":
        """Filter by user group, and by ``collection`` (None for none), ``url`` and ``created_since``, where given."""
        bookmarks = self.filter(user_group=user_group)
        if "collection" in filters:
            bookmarks = bookmarks.filter(collection=filters["collection"])
        if "url" in filters:
            bookmarks = bookmarks.with_url(filters["url"])
        if "created_since" in filters:
            bookmarks = bookmarks.filter(created_at__gte=filters["created_since"])
        return bookmarks

    def with_url(self, url: str) -> "BookmarkQuerySet":
        """Filter by URL, in any equivalent spelling. Raises ValueError if the URL is invalid."""
        return self.filter(url_digest=web_url.digest(url))

    def find(self, user_group: UserGroup, public_id: object) -> "Bookmark":
        """Return the user group's bookmark with this id. Raises DoesNotExist.

        This is for the manager: the filters of a queryset are ignored.
        """
        find = _find(type(self), self.model, self.db, "user_group", "id")
        if (key := parse_public_id(public_id)) and (found := find(user_group=user_group.pk, id=key)):
            return found[0]
        raise self.model.DoesNotExist

    def add(
        self, *, user_group: UserGroup, url: str, collection: "Collection | None" = None, **fields: Any
    ) -> tuple["Bookmark", bool]:
        """Get or create the user group's bookmark of ``url`` in ``collection``. Return it and whether it was created.

        ``fields`` are set only if it is created. Raises ValueError if the URL is invalid or the collection belongs to
        another user group, and IntegrityError if the user group or the collection is deleted.
        """
        if collection is not None and collection.user_group_id != user_group.pk:
            raise ValueError("The collection belongs to another user group.")
        using = self.db_for_write
        bookmark = self.model(user_group=user_group, url=url, collection=collection, **fields)

        def get_or_create() -> "tuple[Bookmark, bool]":
            if _insert(self.model, using).insert(bookmark):
                signals.announce(signals.created, [bookmark], using)
                return bookmark, True
            place, digest = bookmark.unique_key
            find = _find(type(self), self.model, using, "user_group", "url_digest", "collection")
            if existing := find(user_group=user_group.pk, url_digest=digest, collection=place):
                return existing[0], False
            raise IntegrityError("The conflicting bookmark was deleted before it could be read.")

        return retry_on_conflict(get_or_create, using, atomic=False)

    def change(self, public_id: object, versions: Sequence[datetime] | None = None, **changes: Any) -> "Bookmark":
        """Update only the given fields and return the bookmark, as ``PublicIdQuerySet.change`` does.

        Raises ValueError if the new URL is invalid.
        """
        if "url" in changes:
            changes["url_digest"] = web_url.digest(changes["url"])
        return super().change(public_id, versions, **changes)

    def duplicate_of(self, **changes: Any) -> UUID | None:
        own = changed = self.get()
        for name, value in changes.items():
            setattr(changed, name, value)
        of_group = self.model.objects.using(self.db).filter(user_group=own.user_group_id).exclude(pk=own.pk)
        return next((bookmark.pk for bookmark in of_group.by_unique_key([changed.unique_key]).values()), None)


@cache
def _insert(model: "type[Bookmark]", using: str) -> "Insert[Bookmark]":
    return Insert(model, using)


@cache
def _find(queryset: type[BookmarkQuerySet], model: "type[Bookmark]", using: str, *key: str) -> "Select[Bookmark]":
    """Return the statement that reads a bookmark by the fields ``key``. NO_COLLECTION stands for no collection."""
    given: dict[str, Any] = parameters(model, *key)
    if "collection" in given:
        given["place"] = given.pop("collection")
    return Select(queryset(model, using=using).alias(place=PLACE).filter(**given))
