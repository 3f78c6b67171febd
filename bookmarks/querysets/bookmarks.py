"""The manager of bookmarks."""

from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Unpack
from uuid import UUID

from bookmarks import web_url
from usergroups.db.retry import ConflictingWrite, retry_on_conflict
from usergroups.models import UserGroup

from .statements import row_of
from .tags import TagManager

if TYPE_CHECKING:
    from bookmarks.models import Bookmark, BookmarkFields

MAX_FOUND = 100_000
"""The maximum number of ids that ``find_by_urls`` returns.

A URL may be in any number of collections, and given a thousand times.
"""


class TooManyFound(Exception):
    """More than MAX_FOUND ids belong to URLs."""


class BookmarkManager(TagManager):
    """Reads and writes the bookmarks of a user group."""

    changeable = frozenset(
        {"url", "title", "collection_id", "tags", "note", "collection"}
    )

    def add(
        self, *, user_group: UserGroup, **fields: "Unpack[BookmarkFields]"
    ) -> tuple["Bookmark", bool]:
        """Get or create the user group's bookmark of ``url`` in
        ``collection``. Return it and whether it was created.

        The other fields are set only if it is created. Raises ValidationError
        if a value is invalid or the collection belongs to another user group,
        and IntegrityError if the user group or the collection is deleted.
        """
        bookmarks = self.on_db_for_write()
        bookmark = self.model.cleaned(user_group, **fields)
        row = row_of(bookmark)

        def get_or_insert() -> "tuple[Bookmark, bool]":
            if bookmarks.insert_new(user_group, [row]):
                return bookmarks._saved(bookmark), True
            existing = bookmarks.find_by_unique_key(user_group, bookmark.unique_key)
            if existing is None:
                raise ConflictingWrite
            return existing, False

        # It writes with a single statement.
        return retry_on_conflict(get_or_insert, bookmarks.db, atomic=False)

    def _find_duplicate(
        self, user_group: UserGroup, changed: "Bookmark"
    ) -> UUID | None:
        same = self.find_by_unique_key(user_group, changed.unique_key)
        if same is None or same == changed:
            return None
        return same.pk

    def find_by_urls(
        self, user_group: UserGroup, urls: Sequence[str]
    ) -> list[list[UUID]]:
        """Return, for each URL, the ids of the user group's bookmarks with it,
        in one query.

        Raises ValueError if a URL is invalid, and TooManyFound.
        """
        digests = [web_url.digest(url) for url in urls]
        found = self.filter(user_group=user_group, url_digest__in=digests)
        rows = found.values_list("pk", "url_digest")[: MAX_FOUND + 1]
        ids = defaultdict(list)
        # With LIMIT and ORDER BY, PostgreSQL might read the whole table in the
        # order of its primary key.
        for key, digest in sorted(rows):
            ids[bytes(digest)].append(key)
        found_ids = [ids[digest] for digest in digests]
        if sum(map(len, found_ids)) > MAX_FOUND:
            raise TooManyFound
        return found_ids
