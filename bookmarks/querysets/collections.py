"""The queryset and the manager of collections."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from operator import attrgetter
from typing import TYPE_CHECKING, Any, cast
from uuid import UUID

from django.db.models import QuerySet

from bookmarks.owned_rows import (
    Duplicate,
    PublicIdManager,
    PublicIdQuerySet,
    parse_public_id,
)
from usergroups import signals
from usergroups.db.announcements import announce
from usergroups.db.retry import ConflictingWrite, retry_on_conflict
from usergroups.events import Kind, events_about, is_call, record_events
from usergroups.models import UserGroup

if TYPE_CHECKING:
    from bookmarks.models import Bookmark, Collection

    from .bookmarks import BookmarkManager


class CollectionQuerySet(PublicIdQuerySet["Collection"]):
    """Deletes collections without their bookmarks."""

    def record_deletions(self, rows: Sequence["Collection"], now: datetime) -> None:
        super().record_deletions(rows, now)
        # The admin records what operators delete.
        if is_call():
            # Only the keys and the owners of the rows were loaded.
            record_events(events_about(Kind.DELETED, rows, lambda row: ""), self.db)

    def dependants(self, keys: Sequence[object]) -> Iterator[QuerySet[Any]]:
        # without the bookmarks, because their foreign key does not cascade
        yield from super().dependants(keys)
        groups = self._user_groups(keys)
        yield bookmarks_of(self).filter(user_group__in=groups, collection__in=keys)

    def prepare_deletion(self, keys: Sequence[Any]) -> None:
        """Move the bookmarks out of these collections, and merge those that
        become duplicates.
        """
        bookmarks = bookmarks_of(self)
        for user_group in self._user_groups(keys):
            bookmarks.move_out_of(user_group, keys)

    def _user_groups(self, keys: Sequence[Any]) -> set[UserGroup]:
        """Return the user groups of these collections, without their fields.

        Statements about bookmarks name the user groups, as Citus needs it.
        """
        collections = self.filter(pk__in=keys).order_by().defer(None)
        # without the rows that a list of the admin selects as well
        collections = collections.select_related(None).prefetch_related(None)
        collections = collections.select_related("user_group").only("user_group__id")
        return {collection.user_group for collection in collections}


class CollectionManager(PublicIdManager["Collection"]):
    """Reads and writes the collections of a user group."""

    changeable = frozenset({"name"})

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
        self.model.cleaned_values({"name": name})
        collections = self.on_db_for_write()

        def refuse_duplicate() -> None:
            same = collections.filter(user_group=user_group, name=name)
            key = same.values_list("pk", flat=True).first()
            if key is not None:
                raise Duplicate(key, ["name"])

        def insert() -> "Collection":
            collection = self.model(user_group=user_group, name=name)
            collections.bulk_create([collection])
            announce(signals.created, [collection], collections.db)
            return collection

        return retry_on_conflict(insert, collections.db, refuse_duplicate)

    def get_or_create_many(
        self, user_group: UserGroup, names: Sequence[str]
    ) -> tuple[dict[str, "Collection"], list["Collection"]]:
        """Return the user group's collections with these names, which are
        distinct, by name, and those that were created.

        Create the missing ones, dated in the order of ``names``. Call this in
        a transaction. Raises ConflictingWrite if another transaction
        creates one of the collections and then deletes it.
        """
        named = self.filter(user_group=user_group, name__in=names)
        found = {collection.name: collection for collection in named}
        missing = [name for name in names if name not in found]
        if not missing:
            return found, []
        new = [self.model(user_group=user_group, name=name) for name in missing]
        # All transactions insert in the same order, so that they do not
        # deadlock.
        self.bulk_create(sorted(new, key=attrgetter("name")), ignore_conflicts=True)
        found = {collection.name: collection for collection in named.all()}
        created = [each for each in new if found.get(each.name) == each]
        announce(signals.created, created, self.db)
        if len(found) < len(names):
            raise ConflictingWrite
        return found, created

    def _find_duplicate(
        self, user_group: UserGroup, changed: "Collection"
    ) -> UUID | None:
        same = self.filter(user_group=user_group, name=changed.name)
        others = same.exclude(pk=changed.pk)
        return others.values_list("pk", flat=True).first()


def bookmarks_of(collections: QuerySet["Collection"]) -> "BookmarkManager":
    """Return the manager of bookmarks on the database of the collections."""
    relation = collections.model._meta.get_field("bookmarks")
    model = cast("type[Bookmark]", relation.related_model)
    return model.objects.db_manager(collections.db)
