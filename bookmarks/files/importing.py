"""Store a file's records as bookmarks.

A file is read in blocks of records. Consecutive blocks form a chunk, which is stored in one transaction:

1. Create the collections that the chunk names, in a transaction of their own.
2. On PostgreSQL, try COPY. It is fast, and it stores a block while the next one is being read, but it fails if any
   bookmark already exists.
3. Otherwise insert the chunk with ON CONFLICT DO NOTHING.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, groupby, tee
from operator import itemgetter
from typing import TypeVar
from uuid import UUID

from django.db import IntegrityError, router

from bookmarks.models import Bookmark, Collection
from usergroups import signals
from usergroups.models import UserGroup
from usergroups.transactions import retry_on_conflict

from .postgresql_copy import copy_blocks
from .records import Block, BookmarkRow, InvalidRecord, Record, distinct, read_blocks

T = TypeVar("T")

BLOCK_SIZE = 500  # records
CHUNK_SIZE = 20  # blocks


class UserGroupDeleted(Exception):
    """The user group and its bookmarks were deleted during the import."""


@dataclass
class Outcome:
    """The result of a chunk of records."""

    created: int
    existing: int
    invalid_records: list[InvalidRecord]
    collection_deleted: bool
    """Whether the given collection has been deleted, so that these records are in no collection."""


def store(
    user_group: UserGroup, records: Iterable[Record | InvalidRecord], collection: Collection | None = None
) -> Iterator[Outcome]:
    """Store the records in chunks, each in its own transaction, and yield the outcome of each chunk.

    A record goes into ``collection`` if one is given, or else into the collection that it names, which is created if
    it is missing. Existing bookmarks are not changed, so an interrupted import can be run again from the start.

    Other transactions may delete objects meanwhile. If a named collection is deleted, it is created again. If
    ``collection`` is deleted, the remaining records go into no collection. If the user group is deleted, this raises
    UserGroupDeleted after it has yielded the chunks that were stored before.
    """
    importer = _Importer(user_group, collection)
    blocks = read_blocks(records, BLOCK_SIZE, with_collections=collection is None)
    try_copy = True
    # groupby() reads the blocks of a chunk only as store_chunk() asks for them.
    for _, numbered_blocks in groupby(_number_chunks(blocks), key=itemgetter(0)):
        outcome = importer.store_chunk((block for _, block in numbered_blocks), try_copy)
        try_copy = outcome.existing == 0  # if some exist, COPY would probably fail for the next chunk as well
        yield outcome


def _number_chunks(blocks: Iterable[Block]) -> Iterator[tuple[int, Block]]:
    """Yield each block with the number of its chunk.

    A block that names a new collection begins a chunk, because collections are created before a chunk is stored.
    """
    chunk = length = 0
    names: set[str | None] = {None}
    for block in blocks:
        if length == CHUNK_SIZE or not block.collection_names <= names:
            chunk, length = chunk + 1, 0
        names |= block.collection_names
        length += 1
        yield chunk, block


class _Importer:
    """Stores the chunks of one import."""

    def __init__(self, user_group: UserGroup, collection: Collection | None) -> None:
        self.user_group, self.collection = user_group, collection
        self.database = router.db_for_write(Bookmark)
        self.collection_ids: dict[str | None, UUID | None] = {None: collection.pk if collection else None}
        """The ids of the known collections by name.

        The key None stands for records without a named collection, which go into ``collection``.
        """

    def store_chunk(self, blocks: Iterator[Block], try_copy: bool) -> Outcome:
        first = next(blocks)
        if unknown := first.collection_names - self.collection_ids.keys():
            self.retry(lambda: self.get_or_create_collections(unknown))
        # COPY reads the blocks while it runs. If it fails, those blocks are inserted with the rest of the chunk.
        for_copy, for_insert = tee(chain([first], blocks))
        created = copy_blocks(for_copy, self.user_group, self.collection_ids, self.database) if try_copy else None
        # Read the rest before the insert locks any rows, because the file may be a slow pipe.
        chunk = list(for_insert)
        if created is None:
            rows = distinct(chain.from_iterable(block.rows for block in chunk), seen=set())
            # Concurrent imports insert in the same order, so that they do not deadlock.
            in_order = sorted(rows, key=lambda row: row.unique_key)
            created = self.retry(lambda: self.insert(in_order))
        return Outcome(
            created,
            existing=sum(len(block.rows) for block in chunk) - created,
            invalid_records=[record for block in chunk for record in block.invalid_records],
            collection_deleted=self.collection is not None and self.collection_ids[None] is None,
        )

    def retry(self, action: Callable[[], T]) -> T:
        """Run ``action`` as ``retry_on_conflict`` does. Raises UserGroupDeleted if the user group is deleted."""

        def check_user_group() -> None:
            if not UserGroup.objects.using(self.database).filter(pk=self.user_group.pk).exists():
                raise UserGroupDeleted

        return retry_on_conflict(action, self.database, check_user_group)

    def insert(self, rows: list[BookmarkRow]) -> int:
        """Insert the rows that do not exist yet and return their number."""
        # Repeat this, because a collection may have been deleted since.
        self.get_or_create_collections({row.collection for row in rows})
        bookmarks = Bookmark.objects.using(self.database).filter(user_group=self.user_group)
        bookmarks.bulk_create(map(self.bookmark, rows), ignore_conflicts=True)
        created = bookmarks.filter(pk__in=[row.id for row in rows])
        if signals.created.has_listeners(Bookmark):
            signals.announce(signals.created, list(created), self.database)
        return created.count()

    def bookmark(self, row: BookmarkRow) -> Bookmark:
        values = row._asdict()
        collection_id = self.collection_ids[values.pop("collection")]
        return Bookmark(user_group=self.user_group, collection_id=collection_id, **values)

    def get_or_create_collections(self, names: set[str | None]) -> None:
        """Look up the collections with these names, create the missing ones, and lock all of them.

        If ``collection`` has been deleted, records without a name go into no collection from now on.
        """
        collections = Collection.objects.using(self.database).filter(user_group=self.user_group)
        locked = collections.select_for_update(no_key=True).order_by("pk")
        if self.collection is not None and not locked.filter(pk=self.collection.pk):
            self.collection_ids[None] = None
        wanted = {name for name in names if name is not None}
        named = locked.filter(name__in=wanted).values_list("name", "pk")
        found = dict(named)
        if missing := sorted(wanted - found.keys()):
            new = [Collection(user_group=self.user_group, name=name) for name in missing]
            collections.bulk_create(new, ignore_conflicts=True)
            found = dict(named.all())
            own = [collection for collection in new if found.get(collection.name) == collection.pk]
            signals.announce(signals.created, own, self.database)
            if wanted - found.keys():
                raise IntegrityError("A collection that another transaction created has been deleted.")
        self.collection_ids.update(found)
