"""Read bookmarks and collections in pages.

Each page is one statement, since a server-side cursor would not work behind a pooler of connections. All of them see
the same state of the database.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import chain, groupby
from operator import attrgetter
from typing import Any

from django.db import Error, connections
from django.db.models import QuerySet

from bookmarks.models import Bookmark, Collection
from bookmarks.querysets.batches import NO_COLLECTION
from usergroups.contract.pagination import comes_after
from usergroups.models import UserGroup

PAGE_SIZE = 2000  # rows


def load(
    user_group: UserGroup, collection: Collection | None = None, among: QuerySet[Bookmark] | None = None
) -> Iterator[Bookmark | Collection]:
    """Yield the bookmarks of a user group, or of one of its collections, that are ``among`` others, in constant memory.

    They are ordered by collection, oldest first, and begin with those in no collection. In the place of an empty
    collection, yield the collection itself, unless ``among`` is given.

    Changes that others make meanwhile have no effect, unless the caller is in a transaction with a lower isolation
    level. Until the iterator is exhausted or closed, the thread cannot write to the database.
    """
    bookmarks = Bookmark.objects.all() if among is None else among.defer(None).select_related(None)
    bookmarks = bookmarks.filter(user_group=user_group)
    bookmarks = bookmarks.using(bookmarks.db)  # so that all pages come from one database
    with _snapshot(bookmarks.db):
        for item in _load(bookmarks, user_group, collection):
            if among is None or isinstance(item, Bookmark):
                yield item


def load_all(bookmarks: QuerySet[Bookmark]) -> Iterator[Bookmark]:
    """Yield bookmarks of any user groups as ``load`` does, in the order in which they were added.

    ``bookmarks`` should load the collections, and whatever else the caller reads, with ``select_related``.
    """
    rows = bookmarks.using(bookmarks.db).order_by("pk")
    with _snapshot(rows.db):
        page = list(rows[:PAGE_SIZE])
        while page:
            for bookmark in page:
                bookmark.collection = bookmark.visible_collection
                yield bookmark
            page = list(rows.filter(pk__gt=page[-1].pk)[:PAGE_SIZE])


@contextmanager
def _snapshot(using: str) -> Iterator[None]:
    """Let the statements of the block see the database as it was at the first of them.

    ``transaction.atomic`` could not set the isolation level, and on SQLite it may take the write lock.
    """
    connection = connections[using]
    if connection.in_atomic_block or not connection.get_autocommit():
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


def _load(
    bookmarks: QuerySet[Bookmark], user_group: UserGroup, collection: Collection | None
) -> Iterator[Bookmark | Collection]:
    if collection is not None:
        yield from _in_collections(bookmarks, [collection])
        return
    yield from _oldest_first(bookmarks.filter(collection=None))
    # This includes the collections that are being deleted, which still have bookmarks.
    collections = Collection._base_manager.using(bookmarks.db).filter(user_group=user_group).order_by("pk")
    last = NO_COLLECTION
    while page := list(collections.filter(pk__gt=last)[:PAGE_SIZE]):
        yield from _in_collections(bookmarks, page)
        last = page[-1].pk


def _in_collections(bookmarks: QuerySet[Bookmark], collections: list[Collection]) -> Iterator[Bookmark | Collection]:
    """Yield the bookmarks in these collections, which are ordered by id, and the collections without bookmarks.

    Small collections share a page: a page for each of 10,000 collections takes nine times as long. The database sorts
    all bookmarks of the collections that share a page, so their number grows only while they fit on it.
    """
    number = 1
    while collections:
        sharing: dict[Any, Collection] = {collection.pk: collection for collection in collections[:number]}
        rows = bookmarks.filter(collection__in=sharing).order_by("collection_id", "created_at", "pk")
        page = list(rows[:PAGE_SIZE])
        found: dict[Any, Iterable[Bookmark]]
        found = {key: list(part) for key, part in groupby(page, attrgetter("collection_id"))}
        collections, number = collections[number:], 2 * number
        if len(page) == PAGE_SIZE:
            last: Any = page[-1]
            rest_of_the_last = _oldest_first(bookmarks.filter(collection=last.collection_id), last)
            found[last.collection_id] = chain(found[last.collection_id], rest_of_the_last)
            later = [sharing.pop(key) for key in list(sharing) if key > last.collection_id]
            collections, number = [*later, *collections], 1
        for key, collection in sharing.items():
            if key in found:
                for bookmark in found[key]:
                    bookmark.collection = collection
                    bookmark.collection = bookmark.visible_collection
                    yield bookmark
            elif collection.deleted_at is None:
                yield collection


def _oldest_first(bookmarks: QuerySet[Bookmark], last: Bookmark | None = None) -> Iterator[Bookmark]:
    """Yield the bookmarks, or those that come after ``last``."""
    rows = bookmarks.order_by("created_at", "pk")
    following = rows if last is None else rows.filter(comes_after(Bookmark, "id", (last.created_at, last.pk)))
    while page := list(following[:PAGE_SIZE]):
        yield from page
        following = rows.filter(comes_after(Bookmark, "id", (page[-1].created_at, page[-1].pk)))
