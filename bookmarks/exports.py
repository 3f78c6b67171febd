"""Read bookmarks and collections in pages, and send them as a file.

Each page is one statement, because ``iterator()`` would load all rows at once
where server-side cursors are disabled, as they usually are behind a connection
pooler. All statements see the same state of the database.
"""

import logging
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from tempfile import TemporaryFile
from typing import Any, TypeVar

from django.conf import settings
from django.db import Error, connections, router
from django.db.models import Count, QuerySet
from django.db.models.lookups import GreaterThan
from django.http import FileResponse
from rest_framework.exceptions import APIException

from bookmarks import files
from bookmarks.models import Bookmark, Collection
from usergroups.api.fields import rfc_3339_text
from usergroups.api.limits import Deadline
from usergroups.api.parsers import CHUNK_SIZE
from usergroups.db.bounded_reads import compare_positions
from usergroups.db.retry import in_autocommit
from usergroups.db.waiting import atomic_without_waiting
from usergroups.events import Event, Kind, record_events
from usergroups.models import UserGroup

logger = logging.getLogger(__name__)

M = TypeVar("M", Bookmark, Collection)

PAGE_SIZE = 2000  # bookmarks
MAX_COLLECTIONS = 1000  # that are read at once


def load(
    user_group: UserGroup,
    collection: Collection | None = None,
    *,
    without_collections: bool = False,
) -> Generator[Bookmark | Collection]:
    """Yield the bookmarks of a user group, of one of its collections, or only
    those in no collection (``without_collections``), in constant memory.

    They are ordered by collection, oldest first, and begin with those in no
    collection. In the place of an empty collection, yield the collection
    itself.

    Changes that others make meanwhile have no effect, unless the caller is in
    a transaction with a lower isolation level. Until the iterator is exhausted
    or closed, the thread must not write to the database.
    """
    bookmarks = Bookmark.objects.filter(user_group=user_group)
    # so that all pages come from one database
    bookmarks = bookmarks.using(bookmarks.db)
    with _snapshot(bookmarks.db):
        if collection is not None:
            yield from _in_collections(bookmarks, [collection])
            return
        for page in _pages(bookmarks.filter(collection=None), PAGE_SIZE):
            yield from page
        if without_collections:
            return
        collections = Collection.objects.using(bookmarks.db).filter(
            user_group=user_group
        )
        for some in _pages(collections, MAX_COLLECTIONS):
            yield from _in_collections(bookmarks, some)


@contextmanager
def _snapshot(using: str) -> Iterator[None]:
    """Let the statements of the block see the database as it was at the first
    of them.

    ``transaction.atomic`` could not set the isolation level, and on SQLite it
    may take the write lock.
    """
    connection = connections[using]
    if not in_autocommit(connection):
        yield
        return
    is_postgresql = connection.vendor == "postgresql"
    with connection.cursor() as cursor:
        cursor.execute(
            "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY"
            if is_postgresql
            else "BEGIN"
        )
        try:
            yield
        finally:
            with suppress(Error):  # The connection may be lost.
                cursor.execute("ROLLBACK")


def _pages(rows: QuerySet[M], size: int) -> Iterator[list[M]]:
    """Yield the bookmarks of one collection or of none, or the collections, in
    pages from the oldest to the newest. A page of several collections begins
    with the bookmarks of the first.
    """
    # Otherwise, PostgreSQL might read all bookmarks of the user group.
    by_collection = ["collection_id"] if rows.model is Bookmark else []
    rows = following = rows.order_by(*by_collection, "created_at", "pk")
    while page := list(following[:size]):
        yield page
        if len(page) < size:
            return
        last = (page[-1].created_at, page[-1].pk)
        following = rows.filter(
            compare_positions(rows.model, ("created_at", "id"), last, GreaterThan)
        )


def _in_collections(
    bookmarks: QuerySet[Bookmark], collections: Sequence[Collection]
) -> Iterator[Bookmark | Collection]:
    """Yield the bookmarks of these collections in order, and each collection
    that is empty.

    The bookmarks are counted first, which reads only an index.
    """
    inside = bookmarks.filter(collection__in=collections).order_by()
    counts = dict(inside.values_list("collection").annotate(Count("pk")))
    for part in _divide(collections, counts):
        filled = [each for each in part if each.pk in counts]
        # Several collections never fill a page, so that there is only one.
        pages = _pages(bookmarks.filter(collection__in=filled), PAGE_SIZE + 1)
        for page in pages if filled else [[]]:
            by_key: dict[Any, list[Bookmark]] = {each.pk: [] for each in part}
            for bookmark in page:
                by_key[bookmark.collection_id].append(bookmark)
            for each in part:
                yield from _set_collection(by_key[each.pk], each)
                if not by_key[each.pk]:
                    yield each


def _divide(
    collections: Sequence[Collection], counts: Mapping[Any, int]
) -> Iterator[list[Collection]]:
    """Divide the collections, in order, so that each part fits on a page or is
    a single collection.
    """
    part: list[Collection] = []
    total = 0
    for collection in collections:
        count = counts.get(collection.pk, 0)
        if part and total + count > PAGE_SIZE:
            yield part
            part, total = [], 0
        part.append(collection)
        total += count
    yield part


def _set_collection(
    bookmarks: list[Bookmark], collection: Collection
) -> list[Bookmark]:
    for bookmark in bookmarks:
        bookmark.collection = collection
    return bookmarks


class StorageUnavailable(APIException):
    status_code = 503
    default_code = "service_unavailable"
    default_detail = "The server cannot store the file. Try again later."
    wait = 60  # seconds, for the header Retry-After


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


def download(
    content: Iterable[bytes], deadline: Deadline, **options: Any
) -> FileResponse:
    """Return a response with the content, which is written to a temporary file
    before it begins.

    Therefore an error while the content is made leads to an error response, a
    slow client does not keep its source open, and a client notices by the
    Content-Length if the download breaks off. ``options`` are those of the
    response. Raises StorageUnavailable, for example on a full disk, and
    TimeLimitExceeded if the deadline passes before the file is complete.
    """
    try:
        with ExitStack() as closed_after_error:
            file = closed_after_error.enter_context(
                TemporaryFile(dir=settings.FILE_UPLOAD_TEMP_DIR)
            )
            file.writelines(deadline.enforce(content))
            file.seek(0)
            closed_after_error.pop_all()
    except OSError as error:
        raise StorageUnavailable from error
    response = FileResponse(file, **options)
    response.block_size = CHUNK_SIZE
    return response


def record_export(user_group: UserGroup, file_format: str, actor: str = "") -> None:
    """Record that the bookmarks of a user group were exported.

    This does not wait, because an export only reads. A database error is
    logged.
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
