"""Read bookmarks and collections in pages.

Each page is one statement, since a server-side cursor would not work behind a pooler of connections. All of them see
the same state of the database.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import groupby
from operator import attrgetter
from typing import Any

from django.db import Error, connections
from django.db.models import Count, QuerySet

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
            yield from page
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
        yield from _inside(collection, _oldest_first(bookmarks.filter(collection=collection)))
        return
    yield from _oldest_first(bookmarks.filter(collection=None))
    collections = Collection.objects.using(bookmarks.db).filter(user_group=user_group).order_by("pk")
    last = NO_COLLECTION
    while page := list(collections.filter(pk__gt=last)[:PAGE_SIZE]):
        yield from _in_collections(bookmarks, page)
        last = page[-1].pk


def _in_collections(bookmarks: QuerySet[Bookmark], collections: list[Collection]) -> Iterator[Bookmark | Collection]:
    """Yield the bookmarks in these collections, and the collections without bookmarks.

    Small collections share a page, because a page for each of 10,000 collections takes nine times as long.
    """
    inside = bookmarks.filter(collection__in=collections).order_by()
    sizes = Counter(dict(inside.values_list("collection_id").annotate(Count("pk"))))
    for sharing in _fitting_on_a_page(collections, sizes):
        if len(sharing) == 1:
            yield from _inside(sharing[0], _oldest_first(bookmarks.filter(collection=sharing[0])))
            continue
        rows = bookmarks.filter(collection__in=sharing).order_by("collection_id", "created_at", "pk")
        found = {key: list(part) for key, part in groupby(rows, attrgetter("collection_id"))}
        for collection in sharing:
            yield from _inside(collection, found.get(collection.pk, ()))


def _inside(collection: Collection, bookmarks: Iterable[Bookmark]) -> Iterator[Bookmark | Collection]:
    """Yield the bookmarks, which are in this collection, or the collection if there are none."""
    is_empty = True
    for bookmark in bookmarks:
        is_empty = False
        bookmark.collection = collection
        yield bookmark
    if is_empty:
        yield collection


def _fitting_on_a_page(collections: list[Collection], sizes: Mapping[Any, int]) -> Iterator[list[Collection]]:
    """Yield lists of collections whose bookmarks fit on one page, or of one collection that takes several."""
    sharing: list[Collection] = []
    total = 0
    for collection in collections:
        if sharing and total + sizes[collection.pk] > PAGE_SIZE:
            yield sharing
            sharing, total = [], 0
        sharing.append(collection)
        total += sizes[collection.pk]
    if sharing:
        yield sharing


def _oldest_first(bookmarks: QuerySet[Bookmark]) -> Iterator[Bookmark]:
    rows = following = bookmarks.order_by("created_at", "pk")
    while page := list(following[:PAGE_SIZE]):
        yield from page
        if len(page) < PAGE_SIZE:
            return
        following = rows.filter(comes_after(Bookmark, "id", (page[-1].created_at, page[-1].pk)))
