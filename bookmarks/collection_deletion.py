"""Remove bookmarks from collections that are being deleted."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from uuid import UUID

from django.utils import timezone

from usergroups.signals import announce_update, updated

from .time_ordered_ids import first_id

if TYPE_CHECKING:
    from .querysets.bookmarks import BookmarkQuerySet

COLUMNS = ("pk", "user_group", "url_digest", "created_at", "collection__deleted_at")


def remove_from_collections(bookmarks: "BookmarkQuerySet", collections: Sequence[UUID], limit: int) -> int:
    """Remove up to ``limit`` bookmarks from these collections and return their number.

    If bookmarks become duplicates, the oldest is kept and the others are deleted. However, a bookmark that was created
    outside the collections after their deletion is always kept, because its creation has been acknowledged.
    """
    rows = bookmarks.values_list(*COLUMNS, named=True)
    inside: list[Any] = list(rows.filter(collection__in=collections)[:limit])
    if not inside:
        return 0
    outside = rows.filter(
        user_group__in={row.user_group for row in inside},
        collection=None,
        url_digest__in={bytes(row.url_digest) for row in inside},
    )
    deleted_at = min((row.collection__deleted_at for row in inside if row.collection__deleted_at), default=None)

    def rank(row: Any) -> tuple[bool, Any, Any]:
        # Clients can set created_at, but not the time in the id.
        is_from_before = deleted_at is None or row.pk < first_id(deleted_at)
        return is_from_before, row.created_at, row.pk

    candidates = sorted([*outside, *inside], key=rank)
    first: dict[Any, UUID] = {}
    for row in candidates:
        first.setdefault((row.user_group, bytes(row.url_digest)), row.pk)
    kept = set(first.values())
    bookmarks.filter(pk__in=[row.pk for row in candidates if row.pk not in kept]).delete()
    moved = bookmarks.filter(pk__in=[row.pk for row in inside if row.pk in kept])
    moved.update(collection=None, updated_at=timezone.now())
    if updated.has_listeners(bookmarks.model):
        announce_update(list(moved), bookmarks.db, ["collection"])
    return len(inside)
