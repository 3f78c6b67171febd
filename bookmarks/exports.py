"""Read bookmarks and collections in pages, and send them as a file.

Each page is one statement, because ``iterator()`` would load all rows at once
where server-side cursors are disabled, as they usually are behind a connection
pooler. All statements see the same state of the database.
"""

import logging
from collections.abc import Generator, Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from datetime import UTC, datetime
from itertools import chain, islice
from typing import Any, TypeVar

from django.db import Error, connections, router
from django.db.models import QuerySet

from bookmarks import files
from bookmarks.models import Bookmark, Collection
from usergroups.api.fields import rfc_3339_text
from usergroups.api.throttling import Deadline
from usergroups.db.bounded_reads import pages
from usergroups.db.retry import in_autocommit
from usergroups.db.waiting import atomic_without_waiting
from usergroups.events import Event, Kind, record_events
from usergroups.models import UserGroup

logger = logging.getLogger(__name__)

M = TypeVar("M", Bookmark, Collection)

PAGE_SIZE = 2000  # bookmarks
MAX_COLLECTIONS = 1000  # that are read at once

# An order in which PostgreSQL reads no other bookmarks of the user group.
BY_COLLECTION = ("collection_id",)

EARLIEST = datetime.min.replace(tzinfo=UTC)

# The title of the last record of a download that ends early.
NOT_COMPLETE = (
    "This export is not complete. Continue it with this date as created_since."
)


def load(
    user_group: UserGroup,
    collection: Collection | None = None,
    *,
    without_collections: bool = False,
    created_since: datetime | None = None,
    max_idle: float = 0,
) -> Generator[Bookmark | Collection]:
    """Yield the bookmarks of a user group, of one of its collections, or only
    those in no collection (``without_collections``), in constant memory.

    They are ordered by collection, oldest first, and begin with those in no
    collection. In the place of an empty collection, yield the collection
    itself. With ``created_since``, yield only the bookmarks since that time,
    oldest first whatever their collections, and no empty collections.

    Changes that others make meanwhile have no effect, unless the caller is in
    a transaction with a lower isolation level. Until the iterator is exhausted
    or closed, the thread must not write to the database. PostgreSQL ends the
    transaction if the caller waits for more than ``max_idle`` seconds between
    two pages, unless that is 0.
    """
    bookmarks = Bookmark.objects.filter(user_group=user_group)
    # All pages come from one database: a replica, or the one that the collection
    # was read from.
    database = collection._state.db if collection else bookmarks.db
    bookmarks = bookmarks.using(database)
    collections = Collection.objects.using(bookmarks.db).filter(user_group=user_group)
    is_of_one_place = collection is not None or without_collections
    with _snapshot(bookmarks.db, max_idle):
        if created_since is not None:
            recent = bookmarks.filter(created_at__gte=created_since)
            if is_of_one_place:
                recent = recent.filter(collection=collection)
            for page in pages(recent, PAGE_SIZE):
                by_key = collections.in_bulk({row.collection_id for row in page})
                for bookmark in page:
                    bookmark.collection = by_key.get(bookmark.collection_id)
                yield from page
            return
        yield from _in_collection(bookmarks, collection)
        if is_of_one_place:
            return
        for some in pages(collections, MAX_COLLECTIONS):
            for each in some:
                yield from _in_collection(bookmarks, each)


@contextmanager
def _snapshot(using: str, max_idle: float) -> Iterator[None]:
    """Let the statements of the block see the database as it was at the first
    of them.

    ``transaction.atomic`` could not set the isolation level, and on SQLite it
    may take the write lock.
    """
    connection = connections[using]
    if not in_autocommit(connection):
        yield
        return
    begin = "BEGIN"
    if connection.vendor == "postgresql":
        begin = (
            "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY; SET LOCAL "
            f"idle_in_transaction_session_timeout = {max_idle * 1000:.0f}"
        )
    with connection.cursor() as cursor:
        cursor.execute(begin)
        try:
            yield
        finally:
            with suppress(Error):  # The connection may be lost.
                cursor.execute("ROLLBACK")


def _in_collection(
    bookmarks: QuerySet[Bookmark], collection: Collection | None
) -> Iterator[Bookmark | Collection]:
    """Yield the bookmarks of a collection, or the collection if it has none."""
    is_empty = True
    inside = bookmarks.filter(collection=collection)
    for page in pages(inside, PAGE_SIZE, BY_COLLECTION):
        is_empty = False
        for bookmark in page:
            bookmark.collection = collection
            yield bookmark
    if collection is not None and is_empty:
        yield collection


def write(items: Iterable[Bookmark | Collection], file_format: str) -> Iterator[bytes]:
    """Yield the bytes of a file with these bookmarks and empty collections."""
    return files.write(map(_record, items), file_format)


def _record(item: Bookmark | Collection) -> files.WrittenRecord:
    if isinstance(item, Collection):
        return files.CollectionRecord(0, item.name)
    return files.Record(
        0,
        item.url,
        item.title,
        item.collection.name if item.collection else None,
        rfc_3339_text(item.created_at),
        tags=item.tags,
        note=item.note,
    )


class Download:
    """The bytes of a file, whose bookmarks are read while it is sent.

    Begin it before the response, so that an error becomes an error response.
    If it ends early later, its last record has no URL, NOT_COMPLETE as its
    title, and as its date the ``created_since`` of a download that continues
    it. The server could not show an error, because it ends the response
    as if it were complete.

    ``filters`` are those of ``load``. Raises TimeLimitExceeded. ``closing`` is
    closed with the download.
    """

    def __init__(
        self,
        user_group: UserGroup,
        file_format: str,
        deadline: Deadline,
        **filters: Any,
    ) -> None:
        self.file_format = file_format
        self.deadline = deadline
        self.created_since = filters.get("created_since")
        self.closing = ExitStack()
        # A client that reads slowly must not keep the transaction open.
        self.items = load(user_group, max_idle=deadline.seconds, **filters)
        with ExitStack() as closed_after_error:
            closed_after_error.enter_context(closing(self.items))
            self.first = list(islice(deadline.enforce(self.items), 1))
            self.closing = closed_after_error.pop_all()

    def __iter__(self) -> Iterator[bytes]:
        return files.write(self.records(), self.file_format)

    def close(self) -> None:
        self.closing.close()

    def records(self) -> Iterator[files.WrittenRecord]:
        """Yield the records, and one that says where to continue after an
        error.
        """
        continued_at = self.created_since or EARLIEST
        try:
            for item in self.deadline.enforce(chain(self.first, self.items)):
                yield _record(item)
                if self.created_since is not None:
                    continued_at = item.created_at
        except Exception:
            logger.warning("An export is not complete.", exc_info=True)
            date = rfc_3339_text(continued_at)
            yield files.Record(0, title=NOT_COMPLETE, created_at=date)


def record_export(user_group: UserGroup, file_format: str, actor: str = "") -> None:
    """Record that the bookmarks of a user group were exported.

    The commit does not wait for the disk on PostgreSQL, and only briefly for
    another writer on SQLite: losing the event is better than delaying an
    export. A database error is logged.
    """
    event = Event(
        user_group=user_group,
        kind=Kind.EXPORTED,
        model=Bookmark._meta.label_lower,
        actor=actor,
        text=file_format.upper(),
    )
    try:
        with atomic_without_waiting(router.db_for_write(Event)):
            record_events([event])
    except Error:
        logger.warning("Could not record an export.", exc_info=True)
