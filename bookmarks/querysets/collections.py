"""The queryset of collections."""

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any
from uuid import UUID

from django.db import IntegrityError
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from bookmarks.public_ids import Duplicate, PublicIdQuerySet, parse_public_id
from usergroups import signals
from usergroups.models import UserGroup
from usergroups.statements import Select, parameters
from usergroups.transactions import retry_on_conflict

if TYPE_CHECKING:
    from bookmarks.models import Collection


class CollectionQuerySet(PublicIdQuerySet["Collection"]):
    def find(self, user_group: UserGroup, public_id: object) -> "Collection | None":
        """Return the user group's collection with this id, or None. It is read from the database for writes.

        This is for the manager: the filters of a queryset are ignored.
        """
        if (key := parse_public_id(public_id)) is None:
            return None
        find = _find(type(self), self.model, self.db_for_write)
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
def _find(queryset: type[CollectionQuerySet], model: "type[Collection]", using: str) -> "Select[Collection]":
    """Return the statement that reads a collection by its user group and id."""
    return Select(queryset(model, using=using).filter(**parameters(model, "user_group", "id")))
