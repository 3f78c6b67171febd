"""The tags of a user group, which only its bookmarks have.

There is no table of tags, which each write of a bookmark would have to change.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any
from uuid import UUID

from bookmarks.letter_case import fold
from bookmarks.search import has_tag
from bookmarks.tags import renamed
from usergroups.db.bounded_reads import pages
from usergroups.db.retry import retry_on_conflict
from usergroups.models import UserGroup

from .bulk_writes import BatchManager

MAX_READ = 5_000
"""The number of bookmarks that are read at a time."""

MAX_KEPT = 10_000
"""The number of tags above which ``count_tags`` forgets those after the page."""

MAX_RENAMED = 1_000
"""The number of bookmarks that one transaction changes."""


@dataclass(frozen=True)
class Tag:
    """A tag, and the number of bookmarks that have it."""

    name: str
    count: int


def pages_of_tags(bookmarks: Any) -> Iterator[list[str]]:
    """Yield the tags of a queryset of bookmarks, each as often as it occurs, of
    MAX_READ bookmarks at a time.
    """
    tagged = bookmarks.exclude(tags="")
    rows = tagged.values_list("created_at", "pk", "tags", named=True)
    for page in pages(rows, MAX_READ):
        yield [*chain.from_iterable(row.tags for row in page)]


def count_tags(
    tags: Iterable[list[str]],
    is_wanted: Callable[[str], bool],
    number: int,
    *,
    ascending: bool,
) -> list[Tag]:
    """Return the first ``number`` of these tags, in the order of their folded
    names, of which ``is_wanted`` selects some.

    Of several spellings, a tag has the first in alphabetical order.
    """
    counts = Counter[str]()
    names: dict[str, str] = {}
    for page in tags:
        for name, count in Counter(page).items():
            folded = fold(name)
            if is_wanted(folded):
                counts[folded] += count
                names[folded] = min(name, names.get(folded, name))
        if len(counts) > MAX_KEPT:
            for folded in sorted(counts, reverse=not ascending)[number:]:
                del counts[folded], names[folded]
    in_order = sorted(counts, reverse=not ascending)
    return [Tag(names[folded], counts[folded]) for folded in in_order[:number]]


class TagManager(BatchManager):
    """Renames the tags of a user group."""

    def rename_tag(
        self, user_group: UserGroup, tag: str, new: str | None
    ) -> Iterator[int]:
        """Rename a tag, in any letter case, on all bookmarks of the user group,
        or remove it if ``new`` is None.

        Yield the numbers of bookmarks that changed, after each transaction.
        """
        bookmarks = self.on_db_for_write()
        rows = bookmarks.filter(has_tag(tag), user_group=user_group)
        for page in pages(
            rows.values_list("created_at", "pk", named=True), MAX_RENAMED
        ):
            keys = [row.pk for row in page]
            rename = partial(bookmarks._rename_tag, user_group, keys, tag, new)
            yield retry_on_conflict(rename, bookmarks.db)

    def _rename_tag(
        self, user_group: UserGroup, keys: Sequence[UUID], tag: str, new: str | None
    ) -> int:
        """Rename a tag on the bookmarks with these keys in the current
        transaction, and return the number of those that changed.
        """
        rows = self.filter(user_group=user_group, pk__in=keys)
        locked = rows.select_for_update().order_by("pk")
        bookmarks = {bookmark.unique_key: bookmark for bookmark in locked}
        wanted = {
            key: {"tags": renamed(bookmark.tags, tag, new)}
            for key, bookmark in bookmarks.items()
        }
        return len(self._update_locked(user_group, bookmarks, wanted))
