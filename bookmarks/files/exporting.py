"""Read bookmarks and collections in pages, and send them as a file.

Each page is one statement, because ``iterator()`` would load all rows at once where server-side cursors are disabled,
as they usually are behind a connection pooler. All statements see the same state of the database.
"""

from collections.abc import Generator, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from tempfile import TemporaryFile
from typing import Any, TypeVar

from django.conf import settings
from django.db import Error, connections
from django.db.models import QuerySet
from django.db.models.lookups import GreaterThan
from django.http import FileResponse
from rest_framework.exceptions import APIException

from bookmarks.models import Bookmark, Collection
from usergroups.contract.deadlines import Deadline
from usergroups.contract.pagination import compare_positions
from usergroups.contract.requests import CHUNK_SIZE
from usergroups.models import UserGroup
from usergroups.transactions import in_autocommit

M = TypeVar("M", Bookmark, Collection)

PAGE_SIZE = 2000  # rows


def load(user_group: UserGroup, collection: Collection | None = None) -> Generator[Bookmark | Collection]:
    """Yield the bookmarks of a user group, or of one of its collections, in constant memory.

    They are ordered by collection, oldest first, and begin with those in no collection. In the place of an empty
    collection, yield the collection itself.

    Changes that others make meanwhile have no effect, unless the caller is in a transaction with a lower isolation
    level. Until the iterator is exhausted or closed, the thread must not write to the database.
    """
    bookmarks = Bookmark.objects.filter(user_group=user_group)
    bookmarks = bookmarks.using(bookmarks.db)  # so that all pages come from one database
    with _snapshot(bookmarks.db):
        if collection is None:
            yield from _in_order(bookmarks.filter(collection=None))
        collections = Collection.objects.using(bookmarks.db).filter(user_group=user_group)
        for each in [collection] if collection else _in_order(collections):
            is_empty = True
            for bookmark in _in_order(bookmarks.filter(collection=each)):
                is_empty = False
                bookmark.collection = each
                yield bookmark
            if is_empty:
                yield each


@contextmanager
def _snapshot(using: str) -> Iterator[None]:
    """Let the statements of the block see the database as it was at the first of them.

    ``transaction.atomic`` could not set the isolation level, and on SQLite it may take the write lock.
    """
    connection = connections[using]
    if not in_autocommit(connection):
        yield
        return
    is_postgresql = connection.vendor == "postgresql"
    with connection.cursor() as cursor:
        cursor.execute("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY" if is_postgresql else "BEGIN")
        try:
            yield
        finally:
            with suppress(Error):  # The connection may be lost.
                cursor.execute("ROLLBACK")


def _in_order(rows: QuerySet[M]) -> Iterator[M]:
    """Yield the bookmarks of one collection or of none, or the collections, from the oldest to the newest."""
    rows = following = rows.order_by("created_at", "pk")
    while page := list(following[:PAGE_SIZE]):
        yield from page
        if len(page) < PAGE_SIZE:
            return
        following = rows.filter(compare_positions(rows.model, "id", (page[-1].created_at, page[-1].pk), GreaterThan))


class StorageUnavailable(APIException):
    status_code = 503
    default_code = "service_unavailable"
    default_detail = "The server cannot store the file. Try again later."
    wait = 60  # seconds, for the header Retry-After


def download(text: Iterable[str], deadline: Deadline, **options: Any) -> FileResponse:
    """Return a response with the text, which is written to a temporary file before it begins.

    Therefore an error while the text is made leads to an error response, a slow client does not keep its source open,
    and a client notices by the Content-Length if the download breaks off. ``options`` are those of the response.
    Raises StorageUnavailable, for example on a full disk, and TimeLimitExceeded if the deadline passes before the file
    is complete.
    """
    try:
        with ExitStack() as closed_after_error:
            file = closed_after_error.enter_context(TemporaryFile(dir=settings.FILE_UPLOAD_TEMP_DIR))
            file.writelines(chunk.encode() for chunk in deadline.enforce(text))
            file.seek(0)
            closed_after_error.pop_all()
    except OSError as error:
        raise StorageUnavailable from error
    response = FileResponse(file, **options)
    response.block_size = CHUNK_SIZE
    return response
