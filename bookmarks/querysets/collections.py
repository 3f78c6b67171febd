"""The queryset of collections."""

from collections.abc import Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from bookmarks.collection_deletion import remove_from_collections
from bookmarks.public_ids import Duplicate, PublicIdQuerySet, parse_public_id
from usergroups import deletion
from usergroups.deletion import DeletableQuerySet
from usergroups.distribution import Key
from usergroups.models import UserGroup
from usergroups.statements import Select, parameters
from usergroups.transactions import retry_on_conflict

if TYPE_CHECKING:
    from bookmarks.models import Collection


class CollectionQuerySet(PublicIdQuerySet["Collection"], DeletableQuerySet["Collection"]):  # type: ignore[override]
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
            if collections.filter(user_group=user_group, name=name).exists():
                raise Duplicate

        return retry_on_conflict(
            lambda: collections.create(user_group=user_group, name=name), collections.db, refuse_duplicate
        )

    def would_be_duplicate(self, **changes: Any) -> bool:
        own = self.get()
        return (
            self.model.objects.using(self.db)
            .filter(user_group=own.user_group_id, **changes)
            .exclude(pk=own.pk)
            .exists()
        )

    def can_delete_at_once(self, keys: Sequence[Key]) -> bool:
        bookmarks = self._bookmarks_of_groups(keys).filter(collection__in=[pk for pk, _ in keys])
        return bookmarks[: deletion.CHUNK_SIZE + 1].count() <= deletion.CHUNK_SIZE and super().can_delete_at_once(keys)

    def delete_chunk(self, keys: Sequence[Key]) -> bool:
        """Remove up to CHUNK_SIZE bookmarks from these collections and return whether there may be more."""
        bookmarks = self._bookmarks_of_groups(keys)
        removed = remove_from_collections(bookmarks, [pk for pk, _ in keys], deletion.CHUNK_SIZE)
        return removed == deletion.CHUNK_SIZE or super().delete_chunk(keys)

    def _delete_rows(self, keys: Sequence[Key]) -> tuple[int, dict[str, int]]:
        self.delete_chunk(keys)
        return super()._delete_rows(keys)

    def _bookmarks_of_groups(self, keys: Sequence[Key]) -> Any:
        """Return all bookmarks of the user groups that have the collections with these keys."""
        model: Any = self.model._meta.get_field("bookmarks").related_model
        return model.objects.using(self.db).filter(user_group__in={user_group for _, user_group in keys})


@cache
def _find(queryset: type[CollectionQuerySet], model: "type[Collection]", using: str) -> "Select[Collection]":
    """Return the statement that reads a collection by its user group and id."""
    return Select(queryset(model, using=using).filter(deleted_at=None, **parameters(model, "user_group", "id")))
