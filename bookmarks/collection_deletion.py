"""Remove bookmarks from collections that are being deleted."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from uuid import UUID

if TYPE_CHECKING:
    from .querysets import BookmarkQuerySet

COLUMNS = ("pk", "user_group", "url_digest", "created_at", "collection__deleted_at")


def remove_from_collections(bookmarks: "BookmarkQuerySet", collections: Sequence[UUID], limit: int) -> int:
    """Remove up to ``limit`` bookmarks from these collections and return their number.

    Of bookmarks that become duplicates, the oldest is kept and the others are deleted. However, a bookmark that was
    created outside the collections after their deletion is always kept, because its creation has been acknowledged.
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
        is_from_before = deleted_at is None or row.created_at < deleted_at
        return is_from_before, row.created_at, row.pk

    candidates = sorted([*outside, *inside], key=rank)
    first: dict[Any, UUID] = {}
    for row in candidates:
        first.setdefault((row.user_group, bytes(row.url_digest)), row.pk)
    kept = set(first.values())
    bookmarks.filter(pk__in=[row.pk for row in candidates if row.pk not in kept]).delete()
    bookmarks.filter(pk__in=[row.pk for row in inside if row.pk in kept]).update(collection=None)
    return len(inside)
