"""The queryset of collections."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple, cast
from uuid import UUID

from django.db import IntegrityError
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from bookmarks.public_ids import Duplicate, PublicIdQuerySet, parse_public_id
from usergroups import signals
from usergroups.db.announcements import announce, announce_update
from usergroups.db.deletion import TooManyDependants
from usergroups.db.retry import retry_on_conflict
from usergroups.events import Kind, owners, record_call
from usergroups.models import UserGroup

from .batches import merge
from .unique_keys import UniqueKey

if TYPE_CHECKING:
    from bookmarks.models import Bookmark, Collection

    from .bookmarks import BookmarkQuerySet

MAX_MERGED = 1_000
"""The maximum number of bookmarks that ``merge_into`` moves."""


class Merged(NamedTuple):
    """What a merge of collections did, in numbers of bookmarks."""

    moved: int
    duplicates: int
    """Those that were deleted."""


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
                raise Duplicate(key, ["name"])

        return retry_on_conflict(
            lambda: collections.create(user_group=user_group, name=name),
            collections.db,
            refuse_duplicate,
        )

    def get_or_create_many(
        self, user_group: UserGroup, names: Sequence[str]
    ) -> tuple[dict[str, "Collection"], list["Collection"]]:
        """Return the user group's collections with these names, which are
        distinct, by name, and those that were created.

        Create the missing ones, dated in the order of ``names``. Call this in
        a transaction. Raises IntegrityError if another transaction creates one
        of the collections and then deletes it.
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
            raise IntegrityError(
                "A collection that another transaction created has been deleted."
            )
        return found, created

    def merge_into(
        self,
        user_group: UserGroup,
        kept: "Collection",
        others: Sequence["Collection"],
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
        others: Sequence["Collection"],
    ) -> Merged:
        """Do what ``merge_into`` does, in the current transaction."""
        bookmarks = self._bookmarks()
        of_group = bookmarks.filter(user_group=user_group)
        inside = of_group.filter(collection__in=others).order_by("created_at", "pk")
        to_move = list(inside[: MAX_MERGED + 1])
        if len(to_move) > MAX_MERGED:
            raise TooManyDependants(bookmarks.model)
        ids = [bookmark.pk for bookmark in to_move]
        moves = bookmarks.move_by_ids(user_group, ids, kept)
        duplicates = []
        for bookmark, (result, _moved) in zip(to_move, moves, strict=True):
            if isinstance(result, Duplicate):
                duplicates.append(bookmark)
        bookmarks.update_by_unique_key(user_group, additions(duplicates, kept))
        keys = [bookmark.pk for bookmark in duplicates]
        of_group.filter(pk__in=keys).delete()
        self.filter(pk__in=[other.pk for other in others]).delete()
        return Merged(sum(moved for _result, moved in moves), len(duplicates))

    def _find_duplicate(
        self, user_group: UserGroup, changes: Mapping[str, object]
    ) -> UUID | None:
        collections = self.model.objects.using(self.db)
        same = collections.filter(user_group=user_group, **changes)
        others = same.exclude(pk__in=self.values("pk"))
        return others.values_list("pk", flat=True).first()

    def record_deletions(self, rows: Sequence["Collection"], now: datetime) -> None:
        super().record_deletions(rows, now)
        record_call(Kind.DELETED, self.model, owners(rows), self.db)

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
        # conditions of a subquery, on the bookmark of the outer query
        same_url = {
            "user_group": OuterRef("user_group"),
            "url_digest": OuterRef("url_digest"),
        }
        is_older = Q(created_at__lt=OuterRef("created_at"))
        is_older |= Q(created_at=OuterRef("created_at"), pk__lt=OuterRef("pk"))
        would_be_outside = Q(collection=None) | Q(collection__in=keys)
        older_duplicates = bookmarks.filter(would_be_outside, is_older, **same_url)
        inside.filter(Exists(older_duplicates))._delete()
        # All duplicates of the bookmarks that are still inside are newer. With
        # the IN, SQLite reads the bookmarks inside first.
        has_duplicate_inside = Exists(inside.filter(**same_url))
        newer_duplicates = outside.filter(
            has_duplicate_inside, url_digest__in=inside.values("url_digest")
        )
        newer_duplicates._delete()
        released = []
        if signals.updated.has_listeners(bookmarks.model):
            released = list(inside.select_for_update().order_by("pk"))
        now = timezone.now()
        inside.update(collection=None, updated_at=now)
        for bookmark in released:
            bookmark.collection = None
            bookmark.updated_at = now
        announce_update(released, self.db, ["collection"])

    def _bookmarks_of_groups(
        self, collection_keys: Sequence[Any]
    ) -> "BookmarkQuerySet":
        """Return all bookmarks of the user groups that have these collections.

        Callers filter them by collection. Each statement about bookmarks
        names the user groups, as Citus needs it.
        """
        collections = self.order_by().filter(pk__in=collection_keys)
        # Several collections may have the same group.
        groups = set(collections.values_list("user_group", flat=True))
        return self._bookmarks().filter(user_group__in=groups)

    def _bookmarks(self) -> "BookmarkQuerySet":
        """Return the bookmarks of all user groups."""
        relation = self.model._meta.get_field("bookmarks")
        model = cast("type[Bookmark]", relation.related_model)
        return model.objects.using(self.db)


def additions(
    duplicates: Sequence["Bookmark"], collection: "Collection"
) -> dict[UniqueKey, dict[str, Any]]:
    """Return the tags and the notes of these bookmarks, for
    ``update_by_unique_key`` of those with their URLs in the collection.
    """
    wanted: dict[UniqueKey, dict[str, Any]] = {}
    for each in duplicates:
        key = collection.pk, bytes(each.url_digest)
        values = {"tags": each.tags, "note": each.note}
        if key in wanted:
            merged, _dropped_tags = merge(wanted[key], values)
            wanted[key].update(merged)
        else:
            wanted[key] = values
    return wanted
