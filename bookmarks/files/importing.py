"""Store a file's records as bookmarks.

A file is read in blocks of records. Consecutive blocks form a chunk, which is stored in one transaction:

1. Create the collections that the chunk names, in a transaction of their own.
2. On PostgreSQL, try COPY. It is fast, and it stores rows while the next ones are being read, but it fails if any
   bookmark already exists.
3. Otherwise look up which rows exist, and insert the missing ones: by COPY on PostgreSQL, or with ON CONFLICT DO
   NOTHING elsewhere and if another transaction inserts the same bookmarks.

If bookmarks of a chunk existed, some of the next chunk probably exist as well. Step 2 is left out then, and in updates.
"""

from collections.abc import Iterable, Iterator
from itertools import groupby
from operator import itemgetter

from bookmarks.models import Collection
from usergroups.models import UserGroup

from .chunks import ChunkImporter
from .records import FileRecord
from .report import Report
from .rows import Block, read_blocks

BLOCK_SIZE = 500  # records
CHUNK_SIZE = 50  # blocks


def store(
    user_group: UserGroup, records: Iterable[FileRecord], collection: Collection | None = None, update: bool = False
) -> Iterator[Report]:
    """Store the records in chunks, each in its own transaction, and yield the report of each chunk.

    A record goes into ``collection`` if one is given, or else into the collection that it names, which is created if
    it is missing. With ``update``, existing bookmarks get the titles and the dates that the file has for them, the last
    ones if it has several. Otherwise they are not changed. An interrupted import can be run again from the start.

    Other transactions may delete objects meanwhile. If a named collection is deleted, it is created again. If
    ``collection`` is deleted, the remaining records go into no collection. If the user group is deleted, this raises
    UserGroupDeleted after it has yielded the chunks that were stored before.
    """
    importer = ChunkImporter(user_group, collection, update)
    blocks = read_blocks(records, BLOCK_SIZE, with_collections=collection is None)
    # groupby() reads the blocks of a chunk only as store_chunk() asks for them.
    for _, numbered_blocks in groupby(_number_chunks(blocks), key=itemgetter(0)):
        yield importer.store_chunk(block for _, block in numbered_blocks)


def _number_chunks(blocks: Iterable[Block]) -> Iterator[tuple[int, Block]]:
    """Yield each block with the number of its chunk.

    A block that names a new collection begins a chunk, because collections are created before a chunk is stored.
    """
    chunk = length = 0
    names: set[str | None] = {None}
    for block in blocks:
        if length == CHUNK_SIZE or not block.collection_names.keys() <= names:
            chunk, length = chunk + 1, 0
        names.update(block.collection_names)
        length += 1
        yield chunk, block
