"""Store a file's records as bookmarks.

A file is read in blocks of records. Consecutive blocks form a chunk, which is stored in one transaction:

1. Check that the user group still exists, and create the collections that the chunk names, in a transaction of their
   own.
2. On PostgreSQL, try COPY. It is fast, and it stores rows while the next ones are being read, but it fails if any
   bookmark already exists.
3. Otherwise look up which rows exist, and insert the missing ones: by COPY on PostgreSQL, or with ON CONFLICT DO
   NOTHING elsewhere and if another transaction inserts the same bookmarks.

If bookmarks of a chunk existed, some of the next chunk probably exist as well. Step 2 is left out then, and in updates.
"""

import time
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
CHUNK_CHARACTERS = 4_000_000  # in URLs and titles, so that a chunk takes little memory
CHUNK_SECONDS = 5.0  # to read it, because a transaction may be open meanwhile


def store(
    user_group: UserGroup,
    records: Iterable[FileRecord | None],
    collection: Collection | None = None,
    update: bool = False,
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
    chunk = length = characters = 0
    end = time.monotonic() + CHUNK_SECONDS
    names: set[str | None] = {None}
    for block in blocks:
        is_full = length == CHUNK_SIZE or characters > CHUNK_CHARACTERS or time.monotonic() > end
        if is_full or not block.collection_names.keys() <= names:
            chunk, length, characters = chunk + 1, 0, 0
            end = time.monotonic() + CHUNK_SECONDS
        names.update(block.collection_names)
        length, characters = length + 1, characters + block.characters
        yield chunk, block
