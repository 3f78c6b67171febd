"""The tags of a user group, which only its bookmarks have.

There is no table of tags, which each write of a bookmark would have to change.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING
from uuid import UUID

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Aggregate, QuerySet, TextField
from django.db.models.lookups import GreaterThan, LessThanOrEqual
from django.db.models.sql.compiler import SQLCompiler

from bookmarks.letter_case import fold
from bookmarks.search import has_tag
from bookmarks.tags import renamed, tags_of_text
from usergroups.db.bounded_reads import compare_positions, pages
from usergroups.db.retry import retry_on_conflict
from usergroups.models import UserGroup

from .batch_writes import BatchManager
from .unique_keys import rows_by_key

if TYPE_CHECKING:
    from bookmarks.models import Bookmark

MAX_READ = 5_000
"""The number of bookmarks that are read at a time."""

MAX_KEPT = 100_000
"""The number of spellings above which ``count_tags`` forgets those after the
page.
"""

MAX_RENAMED = 1_000
"""The number of bookmarks that one transaction changes."""


@dataclass(frozen=True)
class Tag:
    """A tag, and the number of bookmarks that have it."""

    name: str
    count: int


class JoinedLines(Aggregate):
    """All lines of a text field.

    To read the text of each row would take ten times as long.
    """

    template = "STRING_AGG(%(expressions)s, '\n')"
    output_field = TextField()

    def as_sqlite(
        self, compiler: SQLCompiler, connection: BaseDatabaseWrapper, **context: object
    ) -> tuple[str, tuple[str | int, ...]]:
        template = "GROUP_CONCAT(%(expressions)s, '\n')"
        return self.as_sql(compiler, connection, template=template, **context)


def pages_of_tags(bookmarks: "QuerySet[Bookmark]") -> Iterator[list[str]]:
    """Yield the tags of a queryset of bookmarks, each as often as it occurs, of
    MAX_READ bookmarks at a time.
    """
    rows = following = bookmarks.exclude(tags="").order_by("created_at", "id")
    model = rows.model
    names = ("created_at", "id")
    end = slice(MAX_READ - 1, MAX_READ)
    while last := following.values_list(*names)[end].first():
        up_to_last = compare_positions(model, names, last, LessThanOrEqual)
        yield joined_tags(following.filter(up_to_last))
        following = rows.filter(compare_positions(model, names, last, GreaterThan))
    yield joined_tags(following)


def joined_tags(bookmarks: "QuerySet[Bookmark]") -> list[str]:
    """Return the tags of a queryset of bookmarks, each as often as it occurs."""
    lines = bookmarks.order_by().aggregate(lines=JoinedLines("tags"))["lines"]
    return tags_of_text(lines or "")


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

    def first_spellings() -> list[list[str]]:
        by_folded = defaultdict(list)
        for name in counts:
            folded = fold(name)
            if is_wanted(folded):
                by_folded[folded].append(name)
        in_order = sorted(by_folded, reverse=not ascending)
        return [by_folded[folded] for folded in in_order[:number]]

    counts = Counter[str]()
    for page in tags:
        counts.update(page)
        if len(counts) > MAX_KEPT:
            kept = chain.from_iterable(first_spellings())
            counts = Counter({name: counts[name] for name in kept})
    return [
        Tag(min(names), sum(counts[name] for name in names))
        for names in first_spellings()
    ]


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
        bookmarks = rows_by_key(locked)
        wanted = {
            key: {"tags": renamed(row["tags"], tag, new)}
            for key, row in bookmarks.items()
        }
        return len(self._update_locked(user_group, bookmarks, wanted))
