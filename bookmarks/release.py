"""Taking bookmarks out of collections that are being deleted."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from uuid import UUID

if TYPE_CHECKING:
    from .querysets import BookmarkQuerySet

COLUMNS = ("pk", "user_group", "url_digest", "created_at", "collection__deleted_at")


def release(bookmarks: "BookmarkQuerySet", collections: Sequence[UUID], limit: int) -> int:
    """Take up to ``limit`` bookmarks out of these collections, and return how many there were.

    Of bookmarks that become duplicates the oldest one stays, unless another was created outside the collections after
    their deletion: its creation was acknowledged, so it stays.
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
    kept: dict[Any, UUID] = {}
    for row in candidates:
        kept.setdefault((row.user_group, bytes(row.url_digest)), row.pk)
    staying = set(kept.values())
    bookmarks.filter(pk__in=[row.pk for row in candidates if row.pk not in staying]).delete()
    bookmarks.filter(pk__in=[row.pk for row in inside if row.pk in staying]).update(collection=None)
    return len(inside)
