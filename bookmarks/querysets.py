"""The querysets of bookmarks and collections."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any
from uuid import UUID

from django.db import IntegrityError
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from usergroups import signals
from usergroups.compiled_statements import CompiledInsert, CompiledSelect, parameters
from usergroups.models import UserGroup
from usergroups.transactions import retry_on_conflict

from . import web_url
from .bulk import COLLECTION_KEY, BookmarkBatchQuerySet
from .public_ids import Duplicate, PublicIdQuerySet, parse_public_id

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
        find = _find_bookmark(type(self), self.model, self.db, "user_group", "id")
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
            if _insert_bookmark(self.model, using).insert(bookmark):
                signals.announce(signals.created, [bookmark], using)
                return bookmark, True
            collection_key, digest = bookmark.unique_key
            find = _find_bookmark(type(self), self.model, using, "user_group", "url_digest", "collection")
            if existing := find(user_group=user_group.pk, url_digest=digest, collection=collection_key):
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
def _insert_bookmark(model: "type[Bookmark]", using: str) -> "CompiledInsert[Bookmark]":
    return CompiledInsert(model, using)


@cache
def _find_bookmark(
    queryset: type[BookmarkQuerySet], model: "type[Bookmark]", using: str, *key: str
) -> "CompiledSelect[Bookmark]":
    """Return the statement that reads a bookmark by the fields ``key``. NO_COLLECTION stands for no collection."""
    given: dict[str, Any] = parameters(model, *key)
    if "collection" in given:
        given["collection_key"] = given.pop("collection")
    return CompiledSelect(queryset(model, using=using).alias(collection_key=COLLECTION_KEY).filter(**given))


class CollectionQuerySet(PublicIdQuerySet["Collection"]):
    def find(self, user_group: UserGroup, public_id: object) -> "Collection | None":
        """Return the user group's collection with this id, or None. It is read from the database for writes.

        This is for the manager: the filters of a queryset are ignored.
        """
        if (key := parse_public_id(public_id)) is None:
            return None
        find = _find_collection(type(self), self.model, self.db_for_write)
        return next(iter(find(user_group=user_group.pk, id=key)), None)

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
            if key := collections.filter(user_group=user_group, name=name).values_list("pk", flat=True).first():
                raise Duplicate(key)

        return retry_on_conflict(
            lambda: collections.create(user_group=user_group, name=name), collections.db, refuse_duplicate
        )

    def get_or_create_many(self, user_group: UserGroup, names: Sequence[str]) -> dict[str, "Collection"]:
        """Return the user group's collections by these names, and create the missing ones in the order of the names.

        Call this in a transaction. Raises IntegrityError if a collection that another transaction has created is
        deleted.
        """
        named = self.filter(user_group=user_group, name__in=names)
        found = {collection.name: collection for collection in named}
        if new := [self.model(user_group=user_group, name=name) for name in names if name not in found]:
            # All transactions insert in the same order, so that they do not deadlock.
            self.bulk_create(sorted(new, key=attrgetter("name")), ignore_conflicts=True)
            found = {collection.name: collection for collection in named.all()}
            signals.announce(signals.created, [each for each in new if found.get(each.name) == each], self.db)
            if len(found) < len(names):
                raise IntegrityError("A collection that another transaction created has been deleted.")
        return found

    def duplicate_of(self, **changes: Any) -> UUID | None:
        own = self.get()
        of_group = self.model.objects.using(self.db).filter(user_group=own.user_group_id).exclude(pk=own.pk)
        return of_group.filter(**changes).values_list("pk", flat=True).first()

    def dependants(self, keys: Sequence[Any]) -> Iterator[QuerySet[Any]]:
        yield from super().dependants(keys)
        yield self._bookmarks_of_groups(keys).filter(collection__in=keys)

    def release_dependants(self, keys: Sequence[Any]) -> None:
        """Remove the bookmarks from these collections. If bookmarks become duplicates, only the oldest is kept."""
        bookmarks = self._bookmarks_of_groups(keys)
        inside, outside = bookmarks.filter(collection__in=keys), bookmarks.filter(collection=None)
        same = {"user_group": OuterRef("user_group"), "url_digest": OuterRef("url_digest")}
        is_older = Q(created_at__lt=OuterRef("created_at")) | Q(
            created_at=OuterRef("created_at"), pk__lt=OuterRef("pk")
        )
        older = bookmarks.filter(Q(collection=None) | Q(collection__in=keys), is_older, **same)
        inside.filter(Exists(older)).delete()
        # The condition with IN lets SQLite begin with the bookmarks inside.
        outside.filter(Exists(inside.filter(**same)), url_digest__in=inside.values("url_digest")).delete()
        is_announced, now = signals.updated.has_listeners(bookmarks.model), timezone.now()
        released = list(inside.select_for_update().order_by("pk")) if is_announced else []
        inside.update(collection=None, updated_at=now)
        for bookmark in released:
            bookmark.collection, bookmark.updated_at = None, now
        signals.announce_update(released, self.db, ["collection"])

    def _bookmarks_of_groups(self, keys: Sequence[Any]) -> Any:
        """Return all bookmarks of the user groups that have the collections with these keys."""
        model: Any = self.model._meta.get_field("bookmarks").related_model
        groups = set(self.order_by().filter(pk__in=keys).values_list("user_group", flat=True))
        return model.objects.using(self.db).filter(user_group__in=groups)


@cache
def _find_collection(
    queryset: type[CollectionQuerySet], model: "type[Collection]", using: str
) -> "CompiledSelect[Collection]":
    """Return the statement that reads a collection by its user group and id."""
    return CompiledSelect(queryset(model, using=using).filter(**parameters(model, "user_group", "id")))
