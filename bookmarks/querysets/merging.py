"""The rules by which two bookmarks with the same URL become one: when a collection
is deleted, and when an import brings a bookmark that exists.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING
from uuid import UUID

from django.db.models import Count, Q
from django.utils import timezone

from bookmarks.tags import MAX_TAGS, distinct
from usergroups import signals
from usergroups.db.announcements import announce_update
from usergroups.models import UserGroup

from .row_writes import Changes, RowManager
from .unique_keys import Row, UniqueKey, rows_by_key, unique_key_of_row

if TYPE_CHECKING:
    from bookmarks.models import Bookmark

MERGED = ("title", "tags", "note")
"""The fields that a bookmark takes over from a duplicate."""

MAX_MERGED = 500
"""The number of URLs whose duplicates are read at a time."""


class MergingManager(RowManager):
    """Merges bookmarks of a user group that become duplicates."""

    def update_by_unique_key(
        self, user_group: UserGroup, wanted: Mapping[UniqueKey, Changes]
    ) -> tuple[set[UniqueKey], int, int]:
        """Update the user group's bookmarks with these unique keys to the
        values that ``wanted`` has for each. Add its tags to those of the
        bookmark, and do not replace a note.

        Return the keys that bookmarks have, the number of bookmarks that
        changed, and of tags that were not added because a bookmark has at most
        MAX_TAGS. Call this in a transaction.
        """
        existing = self.find_by_unique_keys(user_group, wanted, lock=True)
        merged = {}
        dropped_tags = 0
        for key, row in existing.items():
            merged[key], dropped = merge(row, wanted[key])
            dropped_tags += dropped
        changed = self._update_locked(user_group, existing, merged)
        return set(existing), len(changed), dropped_tags

    def move_out_of(self, user_group: UserGroup, collections: Sequence[UUID]) -> None:
        """Move all bookmarks of the user group's collections with these keys
        out of their collections, which are deleted.

        Where bookmarks become duplicates, the oldest stays. It gets the first
        of the other titles and of the other notes if it has none, and the tags
        of all. The others are deleted. Call this in a transaction.
        """
        bookmarks = self.filter(user_group=user_group)
        inside = bookmarks.filter(collection__in=collections)
        together = bookmarks.filter(Q(collection__in=collections) | Q(collection=None))
        digests = {bytes(each) for each in inside.values_list("url_digest", flat=True)}
        # All transactions lock bookmarks in the same order.
        in_order = sorted(digests)
        for start in range(0, len(in_order), MAX_MERGED):
            chunk = in_order[start : start + MAX_MERGED]
            # Not with a subquery: if PostgreSQL's statistics miss the user group,
            # it would read all bookmarks of the group for each inside.
            by_url = together.filter(url_digest__in=chunk).values("url_digest")
            repeated = by_url.alias(number=Count("pk")).filter(number__gt=1)
            shared = list(repeated.values_list("url_digest", flat=True))
            rows = together.filter(url_digest__in=shared)
            to_merge = rows.select_for_update().order_by("pk")
            self._merge_duplicates(user_group, rows_by_key(to_merge))
        released: list[Bookmark] = []
        if signals.updated.has_listeners(self.model):
            released = list(inside.select_for_update().order_by("pk"))
        now = timezone.now()
        inside.update(collection=None, updated_at=now)
        for bookmark in released:
            bookmark.collection = None
            bookmark.updated_at = now
        announce_update(released, self.db, ["collection"])

    def _merge_duplicates(
        self, user_group: UserGroup, locked: Mapping[UniqueKey, Row]
    ) -> None:
        """Keep the oldest of the locked bookmarks with the same URL, and delete
        the others.
        """
        by_digest: dict[bytes, list[Row]] = defaultdict(list)
        for row in sorted(locked.values(), key=itemgetter("created_at", "id")):
            by_digest[bytes(row["url_digest"])].append(row)
        wanted: dict[UniqueKey, Changes] = {}
        deleted: list[UUID] = []
        for oldest, *others in by_digest.values():
            wanted[unique_key_of_row(oldest)] = with_duplicates(oldest, others)
            deleted += [other["id"] for other in others]
        of_group = self.get_queryset().filter(user_group=user_group, pk__in=deleted)
        of_group._delete()
        self._update_locked(user_group, locked, wanted)


def with_duplicates(kept: Row, others: Iterable[Row]) -> Row:
    """Return the title, the tags and the note of a bookmark that takes over
    what it lacks from its duplicates.
    """
    merged = {name: kept[name] for name in MERGED}
    for other in others:
        values = {name: other[name] for name in MERGED}
        changes, _dropped = merge(merged, values, keep=("title", "note"))
        merged |= changes
    return merged


def merge(
    current: Changes, values: Changes, keep: Sequence[str] = ("note",)
) -> tuple[Row, int]:
    """Return the values with ``current`` tags before the tags, and without the
    texts named ``keep`` that there are already. Also return the number of tags
    after MAX_TAGS, which are dropped.
    """
    merged = dict(values)
    dropped_tags = 0
    if "tags" in merged:
        tags = distinct([*current["tags"], *merged["tags"]])
        merged["tags"] = tags[:MAX_TAGS]
        dropped_tags = len(tags[MAX_TAGS:])
    for name in keep:
        if current[name]:
            merged.pop(name, None)
    return merged, dropped_tags
