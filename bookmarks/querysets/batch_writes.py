"""Batches: bookmarks that are moved, added or updated together."""

from collections import defaultdict
from collections.abc import Mapping, Sequence, Set
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, cast
from uuid import UUID

from django.core.exceptions import ValidationError
from django.db import IntegrityError
from django.utils import timezone

from bookmarks.owned_rows import Duplicate, parse_public_id
from bookmarks.tags import changed_tags
from usergroups.db.announcements import announce_update
from usergroups.db.bounded_reads import require_small_results, size_of_results
from usergroups.db.outcomes import valid_items, with_outcomes
from usergroups.db.retry import ConflictingWrite, retry_on_conflict
from usergroups.db.stored_json import EncodedSize
from usergroups.db.versions import Modified, require_version
from usergroups.models import UserGroup

from .merging import MergingManager
from .row_writes import Changes
from .statements import row_of
from .unique_keys import NO_COLLECTION, UniqueKey

if TYPE_CHECKING:
    from bookmarks.models import Bookmark, BookmarkFields, Collection


LARGE_FIELDS = ("url", "title", "tags", "note")

SIZE = EncodedSize(*LARGE_FIELDS)
"""The number of bytes of a bookmark's text in a response."""

MAX_UNMEASURED = 250
"""The number of bookmarks whose size need not be estimated.

A bookmark has up to 118 KB of text as JSON, so that these are smaller than
32 MiB.
"""

RELATIVE = {"if_match", "tags_add", "tags_remove"}
"""The values of an item of a batch whose meaning depends on its bookmark."""

UPDATABLE = ("title", "tags", "note")
"""The fields of existing bookmarks that a batch may update."""

Moved: TypeAlias = tuple["Bookmark | Duplicate | None", bool]
"""What a move did for an id: the bookmark after the move, a Duplicate if
another bookmark with its URL is in the collection, or None if there is no such
bookmark; and whether the bookmark moved.
"""


class Stored(NamedTuple):
    """What a batch of bookmarks did for an item."""

    bookmark: "Bookmark"
    created: bool
    changed: bool
    """Whether the bookmark was created or changed."""


class BatchManager(MergingManager):
    """Moves, adds and updates many bookmarks of a user group at once."""

    def estimate_move_size(
        self, user_group: UserGroup, public_ids: Sequence[object]
    ) -> int:
        """Estimate the size of the bookmarks that ``move_by_ids`` will return,
        in bytes of text, or return 0 for a few bookmarks.
        """
        if len(public_ids) <= MAX_UNMEASURED:
            return 0
        keys = [parse_public_id(public_id) for public_id in public_ids]
        bookmarks = self.on_db_for_write()
        found = bookmarks.filter(user_group=user_group, pk__in=keys)
        sizes = found.values_list("pk", SIZE)
        return size_of_results(keys, dict(sizes))

    def estimate_add_size(
        self, user_group: UserGroup, items: Sequence["BookmarkFields"]
    ) -> int:
        """Estimate the size of the bookmarks that ``add_many`` will return, in
        bytes of text, or return 0 for a few bookmarks.
        """
        if len(items) <= MAX_UNMEASURED:
            return 0
        keys = [self.unique_key_of(item) for item in items]
        bookmarks = self.on_db_for_write()
        found = bookmarks.find_by_unique_keys(user_group, set(keys), size=SIZE)
        sizes = {key: row["size"] for key, row in found.items()}
        texts = [
            {name: value for name, value in item.items() if name in LARGE_FIELDS}
            for item in items
        ]
        return size_of_results(keys, sizes, texts)

    def move_by_ids(
        self,
        user_group: UserGroup,
        public_ids: Sequence[object],
        collection: "Collection | None",
    ) -> list[Moved]:
        """Move bookmarks to ``collection``, or out of their collections if it
        is None, and return a result for each id.

        Raises ValidationError if the collection belongs to another user group,
        and IntegrityError if it is deleted.
        """
        self.model.cleaned(user_group, collection=collection)
        keys = [parse_public_id(public_id) for public_id in public_ids]
        valid_keys = list(dict.fromkeys(key for key in keys if key))
        bookmarks = self.on_db_for_write()
        results = retry_on_conflict(
            lambda: bookmarks._move(user_group, valid_keys, collection), bookmarks.db
        )
        moves: list[Moved] = []
        for key in keys:
            found, has_moved = results.get(key, (None, False))
            moves.append((found, has_moved))
            # A repeated id is reported as moved only once.
            results[key] = (found, False)
        return moves

    def _move(
        self,
        user_group: UserGroup,
        keys: Sequence[UUID],
        collection: "Collection | None",
    ) -> dict[UUID | None, Moved]:
        """Move the bookmarks with these keys in the current transaction, and
        return the results by key, without those of missing bookmarks.
        """
        rows = self.filter(user_group=user_group, pk__in=keys)
        locked = rows.select_for_update().order_by("pk").in_bulk()
        new_collection = collection.pk if collection else NO_COLLECTION
        new_keys: dict[UUID, UniqueKey] = {}
        for pk, bookmark in locked.items():
            new_keys[pk] = (new_collection, bytes(bookmark.url_digest))
        present = self.find_by_unique_keys(user_group, new_keys.values())
        owners = {unique_key: row["id"] for unique_key, row in present.items()}
        results: dict[UUID | None, Moved] = {}
        moved = []
        now = timezone.now()
        for key in keys:
            if key not in locked:
                continue
            bookmark = locked[key]
            # The first of several bookmarks with the same URL becomes the
            # owner of their unique key.
            owner = owners.setdefault(new_keys[key], key)
            if owner != key:
                results[key] = (Duplicate(owner, ["collection"]), False)
                continue
            has_moved = bool(bookmark.assign({"collection": collection}, now))
            results[key] = (bookmark, has_moved)
            if has_moved:
                moved.append(bookmark)
        keys_of_moved = [bookmark.pk for bookmark in moved]
        to_move = self.filter(user_group=user_group, pk__in=keys_of_moved)
        to_move.update(collection=collection, updated_at=now)
        announce_update(moved, self.db, ["collection"])
        return results

    def add_each(
        self,
        user_group: UserGroup,
        items: Sequence[Mapping[str, Any]],
        *,
        update: bool = False,
    ) -> list[Stored | Exception]:
        """Do what ``add_many`` does for each item, with an exception in place
        of each one that fails.

        Call this in a transaction if items have RELATIVE values. Raises
        ResultsTooLarge, and IntegrityError if a collection is deleted.
        """
        values, absent = self.on_db_for_write().resolve(user_group, items)

        def add_valid() -> list[Stored | Exception]:
            valid = valid_items(values)
            require_small_results(self.estimate_add_size(user_group, valid))
            stored = self.add_many(user_group, valid, update=update, absent=absent)
            return with_outcomes(values, stored)

        try:
            return add_valid()
        except ValidationError:
            # A validator of the host refuses some of them.
            values = [self._checked(user_group, item) for item in values]
            return add_valid()

    def _checked(
        self, user_group: UserGroup, item: "BookmarkFields | Exception"
    ) -> "BookmarkFields | Exception":
        """Return the item, or an exception if the model refuses a value."""
        if isinstance(item, Exception):
            return item
        try:
            self.model.cleaned(user_group, **item)
        except ValidationError as error:
            return error
        return item

    def resolve(
        self, user_group: UserGroup, items: Sequence[Mapping[str, object]]
    ) -> tuple[list["BookmarkFields | Exception"], set[UniqueKey]]:
        """Return the items as ``add_many`` takes them, and the keys of those
        that were compared with no bookmark.

        Items may have an ``if_match``, the ``updated_at`` of the bookmark, and
        ``tags_add`` and ``tags_remove``, which become ``tags``. In place of an
        item that fails, there is Modified or ValidationError. The bookmarks
        are locked, so call this in the transaction of ``add_many``.
        """
        if not any(item.keys() & RELATIVE for item in items):
            return [cast("BookmarkFields", item) for item in items], set()
        keys = [self.unique_key_of(item) for item in items]
        locked = self.find_by_unique_keys(user_group, set(keys), lock=True)
        # the tags after the items before this one
        tags = {key: row["tags"] for key, row in locked.items()}
        resolved = []
        for item, key in zip(items, keys, strict=True):
            updated_at = locked[key]["updated_at"] if key in locked else None
            values: Any = require_version(item, updated_at)
            if not isinstance(values, Modified):
                try:
                    values = with_tags(values, tags.get(key, []))
                except ValidationError as error:
                    values = error
                else:
                    tags[key] = values.get("tags", tags.get(key, []))
            resolved.append(values)
        return resolved, {*keys} - locked.keys()

    def unique_key_of(self, item: Mapping[str, Any]) -> UniqueKey:
        """Return the unique key of the bookmark that an item names."""
        bookmark = self.model(url=item["url"], collection=item.get("collection"))
        return bookmark.unique_key

    def add_many(
        self,
        user_group: UserGroup,
        items: Sequence["BookmarkFields"],
        *,
        update: bool = False,
        absent: Set[UniqueKey] = frozenset(),
    ) -> list[Stored]:
        """Do what ``add`` does for each item, a dict of a bookmark's fields,
        and return the results in their order.

        With ``update``, existing bookmarks get the titles, tags and notes in
        their items. If several items have the same bookmark, later values
        override earlier ones.

        One INSERT stores the new ones. Either all items are stored or none.
        Raises IntegrityError if a bookmark with one of the ``absent`` keys
        exists.
        """
        bookmarks = self.on_db_for_write()
        now = timezone.now()
        candidates = []
        # the first candidate with each unique key
        new: dict[UniqueKey, Bookmark] = {}
        wanted: dict[UniqueKey, dict[str, object]] = defaultdict(dict)
        for item in items:
            fields: BookmarkFields = {"created_at": now, **item}
            candidate = self.model.cleaned(user_group, **fields)
            candidate.updated_at = now
            candidates.append(candidate)
            key = candidate.unique_key
            new.setdefault(key, candidate)
            if update:
                for name in item.keys() & UPDATABLE:
                    wanted[key][name] = getattr(candidate, name)
        for key, changes in wanted.items():
            for name, value in changes.items():
                setattr(new[key], name, value)
        stored, changed = retry_on_conflict(
            lambda: bookmarks._add_many(user_group, new, wanted, absent),
            bookmarks.db,
        )
        results = []
        for candidate in candidates:
            key = candidate.unique_key
            is_new = stored[key].pk == candidate.pk
            has_changed = is_new or key in changed
            results.append(Stored(stored[key], is_new, has_changed))
            # Only the first item of a bookmark counts as its write.
            changed.discard(key)
        return results

    def _add_many(
        self,
        user_group: UserGroup,
        new: Mapping[UniqueKey, "Bookmark"],
        wanted: Mapping[UniqueKey, Changes],
        absent: Set[UniqueKey],
    ) -> tuple[dict[UniqueKey, "Bookmark"], set[UniqueKey]]:
        """Insert the bookmarks in ``new``, unless they exist already, and
        update those that exist to the values in ``wanted``.

        Return the stored ones by their keys, and the keys of those that were
        updated.
        """
        inserted = self.insert_new(user_group, list(map(row_of, new.values())))
        stored = {}
        for key, bookmark in new.items():
            if bookmark.pk in inserted:
                stored[key] = self._saved(bookmark)
        not_inserted = new.keys() - stored.keys()
        # Lock them only if some may be updated.
        has_updates = bool(wanted)
        existing = self.find_by_unique_keys(user_group, not_inserted, lock=has_updates)
        if len(stored) + len(existing) < len(new):
            raise ConflictingWrite
        if not existing.keys().isdisjoint(absent):
            raise IntegrityError("The bookmark has been created meanwhile.")
        changed = self._update_locked(user_group, existing, wanted)
        for key, row in existing.items():
            stored[key] = self._instance(user_group, row)
        return stored, changed


def with_tags(item: Mapping[str, Any], current: Sequence[str]) -> dict[str, Any]:
    """Replace ``tags_add`` and ``tags_remove``, if the item has them, by the
    resulting ``tags`` of a bookmark that has the tags in ``current``.

    Raises ValidationError if there are too many.
    """
    values = {**item}
    added = values.pop("tags_add", None)
    removed = values.pop("tags_remove", None)
    if added is not None or removed is not None:
        values["tags"] = changed_tags(current, added or (), removed or ())
    return values
