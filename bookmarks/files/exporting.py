"""Read bookmarks and collections in pages.

Each page is one statement, since a server-side cursor would not work behind a pooler of connections. All of them see
the same state of the database.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import groupby
from operator import attrgetter
from typing import TypeVar

from django.db import Error, connections
from django.db.models import Model, QuerySet

from bookmarks.models import Bookmark, Collection
from usergroups.contract.pagination import comes_after
from usergroups.models import UserGroup

M = TypeVar("M", bound=Model)

PAGE_SIZE = 2000  # rows
COLLECTIONS = 50  # whose bookmarks one statement reads, if they fit on a page


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
        if collection is None:
            yield from _oldest_first(bookmarks.filter(collection=None))
        collections = Collection.objects.using(bookmarks.db).filter(user_group=user_group)
        for page in [[collection]] if collection else _pages(collections, COLLECTIONS):
            for each, inside in _by_collection(bookmarks, page):
                is_empty = among is None
                for bookmark in inside:
                    is_empty = False
                    bookmark.collection = each
                    yield bookmark
                if is_empty:
                    yield each


def load_all(bookmarks: QuerySet[Bookmark]) -> Iterator[Bookmark]:
    """Yield bookmarks of any user groups as ``load`` does, in the order in which they were added.

    ``bookmarks`` should load the collections, and whatever else the caller reads, with ``select_related``.
    """
    rows = bookmarks.using(bookmarks.db)
    with _snapshot(rows.db):
        for page in _pages(rows, PAGE_SIZE):
            yield from page


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


def _pages(rows: QuerySet[M], size: int) -> Iterator[list[M]]:
    """Yield the rows in lists, in the order in which they were added."""
    rows = rows.order_by("pk")
    page = list(rows[:size])
    while page:
        yield page
        page = list(rows.filter(pk__gt=page[-1].pk)[:size])


def _by_collection(
    bookmarks: QuerySet[Bookmark], collections: list[Collection]
) -> Iterator[tuple[Collection, Iterable[Bookmark]]]:
    """Yield each of these collections with its bookmarks, oldest first.

    Small collections share a statement, because one for each of 10,000 collections takes nine times as long.
    """
    rows = bookmarks.filter(collection__in=collections).order_by("collection_id", "created_at", "pk")
    shared = list(rows[: PAGE_SIZE + 1]) if len(collections) > 1 else []
    found = {key: list(part) for key, part in groupby(shared, attrgetter("collection_id"))}
    for each in collections:
        if len(collections) > 1 and len(shared) <= PAGE_SIZE:
            yield each, found.get(each.pk, ())
        else:
            yield each, _oldest_first(bookmarks.filter(collection=each))


def _oldest_first(bookmarks: QuerySet[Bookmark]) -> Iterator[Bookmark]:
    rows = following = bookmarks.order_by("created_at", "pk")
    while page := list(following[:PAGE_SIZE]):
        yield from page
        if len(page) < PAGE_SIZE:
            return
        following = rows.filter(comes_after(Bookmark, "id", (page[-1].created_at, page[-1].pk)))
