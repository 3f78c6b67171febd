"""Store a file's records as bookmarks."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import TypeVar
from uuid import UUID

from django.db import IntegrityError, OperationalError, connections, router, transaction

from bookmarks.models import Bookmark, Collection
from usergroups.models import UserGroup
from usergroups.transactions import is_conflict, retry_on_conflict

from .copy_text import COLUMNS, line
from .records import Block, Record, Row, Unreadable, read_blocks

T = TypeVar("T")

BLOCK_SIZE = 500  # records that are sent at once
CHUNK_SIZE = 20  # blocks in a transaction


class UserGroupDeleted(Exception):
    """The user group was deleted during the import, and its bookmarks with it."""


@dataclass
class Outcome:
    """The result of a chunk of records."""

    created: int = 0
    existing: int = 0
    refusals: list[Unreadable] = field(default_factory=list)
    collection_deleted: bool = False
    """Whether the collection for all records has been deleted, so that these records are in no collection."""


def store(
    user_group: UserGroup, records: Iterable[Record | Unreadable], collection: Collection | None = None
) -> Iterator[Outcome]:
    """Store the records in chunks, each in a transaction of its own, and yield the outcome of each chunk.

    A record goes into ``collection``, or else into the collection that it names, which is created if it is missing.
    Existing bookmarks stay as they are, so that a file can be stored again from the start after an interruption.

    Others may delete things meanwhile. A named collection is created again. Once ``collection`` is deleted, records
    go into no collection. Raises UserGroupDeleted, after the chunks that were stored before, if the group is deleted.
    """
    importer = _Importer(user_group, collection, iter(records))
    while importer.block:
        yield importer.store_chunk()


class _Importer:
    def __init__(
        self, user_group: UserGroup, collection: Collection | None, records: Iterator[Record | Unreadable]
    ) -> None:
        self.user_group, self.collection = user_group, collection
        self.database = router.db_for_write(Bookmark)
        self.keys: dict[str | None, UUID | None] = {None: collection.pk if collection else None}
        """The keys of the group's collections by name, as far as they are known; None stands for ``collection``."""
        self.copies = True
        """Whether to try COPY, which fails if one of the rows exists."""
        self.blocks = read_blocks(records, BLOCK_SIZE, with_collections=collection is None)
        self.block = next(self.blocks, None)

    def store_chunk(self) -> Outcome:
        """Store the next blocks. The chunk ends before a block with a collection that is not known yet."""
        assert self.block is not None  # noqa: S101
        if unknown := self.block.names - self.keys.keys():
            self.retry(lambda: self.find_collections(unknown))
        chunk: list[Block] = []
        created = self.copy(self.take(chunk)) if self.copies else None
        if created is None:
            # Read the whole chunk before anything is locked: the file may be a pipe whose writer is slow.
            for _ in self.take(chunk):
                pass
            rows: dict[tuple[str, bytes], Row] = {}
            for row in chain.from_iterable(block.rows for block in chunk):
                rows.setdefault((row.collection or "", row.digest), row)
            created = self.retry(lambda: self.insert([rows[identity] for identity in sorted(rows)]))
        existing = sum(len(block.rows) for block in chunk) - created
        self.copies = existing == 0
        deleted = self.collection is not None and self.keys[None] is None
        return Outcome(created, existing, [refusal for block in chunk for refusal in block.refusals], deleted)

    def retry(self, action: Callable[[], T]) -> T:
        """Run ``action`` in a transaction, as ``retry_on_conflict`` does. Raises UserGroupDeleted."""

        def check_user_group() -> None:
            if not UserGroup.objects.using(self.database).filter(pk=self.user_group.pk).exists():
                raise UserGroupDeleted

        return retry_on_conflict(action, self.database, check_user_group)

    def take(self, chunk: list[Block]) -> Iterator[Block]:
        while self.block and len(chunk) < CHUNK_SIZE and self.block.names <= self.keys.keys():
            chunk.append(self.block)
            self.block = next(self.blocks, None)
            yield chunk[-1]

    def copy(self, blocks: Iterable[Block]) -> int | None:
        """Insert the blocks' rows by COPY, which takes a block while the next one is being read; return how many.

        Return None, with nothing done, if the database is not PostgreSQL with psycopg 3, if one of the rows exists,
        if a collection or the group was deleted, or if another transaction is in conflict.
        """
        connection = connections[self.database]
        with connection.cursor() as cursor:
            if not hasattr(cursor, "copy"):
                return None
            table, *columns = map(connection.ops.quote_name, (Bookmark._meta.db_table, *COLUMNS))
            sql = f"COPY {table} ({', '.join(columns)}) FROM STDIN"
            seen: set[tuple[str | None, bytes]] = set()
            try:
                with transaction.atomic(self.database), connection.wrap_database_errors, cursor.copy(sql) as copy:
                    for block in blocks:
                        new = {(row.collection, row.digest): row for row in reversed(block.rows)}
                        rows = (row for key, row in new.items() if key not in seen)
                        copy.write("".join(line(row, self.user_group.pk, self.keys[row.collection]) for row in rows))
                        seen |= new.keys()
            except IntegrityError:
                return None
            except OperationalError as error:
                if is_conflict(error):
                    return None
                raise
        return len(seen)

    def insert(self, rows: list[Row]) -> int:
        """Insert the rows that do not exist yet and return how many that were."""
        self.find_collections({row.collection for row in rows})  # again: one may have been deleted since
        bookmarks = Bookmark.objects.using(self.database)
        bookmarks.bulk_create(
            (
                Bookmark(
                    id=row.id,
                    user_group=self.user_group,
                    collection_id=self.keys[row.collection],
                    url=row.url,
                    title=row.title,
                    created_at=row.created_at,
                )
                for row in rows
            ),
            ignore_conflicts=True,
        )
        return bookmarks.filter(pk__in=[row.id for row in rows]).count()

    def find_collections(self, names: set[str | None]) -> None:
        """Find the collections with these names, create the missing ones, and lock all until the transaction ends.

        If the collection for all records, which None stands for, is deleted, None stands for no collection from then.
        """
        collections = Collection.objects.using(self.database).filter(user_group=self.user_group)
        locked = collections.select_for_update(no_key=True).order_by("pk")
        if self.collection is not None and not locked.filter(pk=self.collection.pk):
            self.keys[None] = None
        wanted = {name for name in names if name is not None}
        named = locked.filter(name__in=wanted)
        found = dict(named.values_list("name", "pk"))
        if missing := sorted(wanted - found.keys()):
            made = [Collection(user_group=self.user_group, name=name) for name in missing]
            collections.bulk_create(made, ignore_conflicts=True)
            found = dict(named.values_list("name", "pk"))
            if wanted - found.keys():
                raise IntegrityError("A collection that another transaction created has been deleted.")
        self.keys.update(found)
