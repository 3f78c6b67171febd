"""From a file's records to rows."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import Any
from uuid import UUID

from django.db import IntegrityError, OperationalError, connections, router, transaction

from bookmarks.models import Bookmark, Collection
from usergroups.models import UserGroup
from usergroups.transactions import is_conflict, retry_on_conflict

from .copy_text import BYTES, NULL, escaped
from .records import Record, Row, Unreadable, checked

BLOCK_SIZE = 500  # records that are sent at once
CHUNK_SIZE = 20  # blocks in a transaction

COLUMNS = ("id", "user_group_id", "collection_id", "url", "url_digest", "title", "created_at")


@dataclass
class Outcome:
    """What became of some records."""

    created: int = 0
    existing: int = 0
    refusals: list[Unreadable] = field(default_factory=list)


def store(
    user_group: UserGroup, records: Iterable[Record | Unreadable], collection: Collection | None = None
) -> Iterator[Outcome]:
    """Store the records, each once, and yield what became of them, chunk by chunk, each in a transaction of its own.

    A record goes into ``collection``, or else into the one that it names, which is made if there is none. What is
    there already stays as it is, so that a file can be stored again from the start after an interruption.
    """
    importer = _Importer(user_group, collection, iter(records))
    while importer.block:
        yield importer.store_chunk()


@dataclass
class _Block:
    rows: list[Row]
    refusals: list[Unreadable]
    names: set[str | None]
    """Of the collections."""


class _Importer:
    def __init__(
        self, user_group: UserGroup, collection: Collection | None, records: Iterator[Record | Unreadable]
    ) -> None:
        self.user_group, self.collection = user_group, collection
        self.database = router.db_for_write(Bookmark)
        self.keys: dict[str | None, UUID | None] = {None: collection.pk if collection else None}
        """Of the group's collections, by name, as far as they are known."""
        self.copies = True
        """Whether COPY, which takes no row that is there, is worth a try."""
        self.blocks = self.read(records)
        self.block = next(self.blocks, None)

    def read(self, records: Iterator[Record | Unreadable]) -> Iterator[_Block]:
        while part := list(islice(records, BLOCK_SIZE)):
            block = _Block([], [], set())
            for record in part:
                try:
                    block.rows.append(checked(record, with_collection=self.collection is None))
                except ValueError as error:
                    block.refusals.append(Unreadable(record.line, str(error)))
            block.names = {row.collection for row in block.rows}
            yield block

    def store_chunk(self) -> Outcome:
        """Store the blocks from the next one on; before one with a collection that is not known yet the chunk ends."""
        assert self.block is not None  # noqa: S101
        self.find_collections(self.block.names - self.keys.keys())
        chunk: list[_Block] = []
        created = self.copy(self.take(chunk)) if self.copies else None
        if created is None:
            # Read as a whole before anything is locked: who writes the file may be slow.
            for _ in self.take(chunk):
                pass
            rows: dict[tuple[str, bytes], Row] = {}
            for row in chain.from_iterable(block.rows for block in chunk):
                rows.setdefault((row.collection or "", row.digest), row)
            created = retry_on_conflict(
                lambda: self.insert([rows[identity] for identity in sorted(rows)]), self.database
            )
        existing = sum(len(block.rows) for block in chunk) - created
        self.copies = existing == 0
        return Outcome(created, existing, [refusal for block in chunk for refusal in block.refusals])

    def take(self, chunk: list[_Block]) -> Iterator[_Block]:
        while self.block and len(chunk) < CHUNK_SIZE and self.block.names <= self.keys.keys():
            chunk.append(self.block)
            self.block = next(self.blocks, None)
            yield chunk[-1]

    def copy(self, blocks: Iterable[_Block]) -> int | None:
        """Insert the blocks' rows by COPY, which takes a block while the next one is being read; return how many.

        None, with nothing done, where there is no PostgreSQL with psycopg 3, or one of the rows already, or somebody
        else with some of them.
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
                        copy.write("".join(self.line(row) for key, row in new.items() if key not in seen))
                        seen |= new.keys()
            except IntegrityError:
                return None
            except OperationalError as error:
                if is_conflict(error):
                    return None
                raise
        return len(seen)

    def line(self, row: Row) -> str:
        key, url, digest, title, collection, created_at = row
        return (
            f"{key}\t{self.user_group.pk}\t{self.keys[collection] or NULL}\t{escaped(url)}\t{BYTES}{digest.hex()}\t"
            f"{escaped(title)}\t{created_at.isoformat()}\n"
        )

    def insert(self, rows: list[Row]) -> int:
        """Insert the rows that are not there, and return how many that were."""
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

    def find_collections(self, names: set[Any]) -> None:
        """Get to know the collections with these names, and make those that are missing."""
        if not names:
            return
        named = Collection.objects.using(self.database).filter(user_group=self.user_group, name__in=names)

        def make_missing() -> None:
            self.keys |= dict(named.values_list("name", "pk"))
            made = [Collection(user_group=self.user_group, name=name) for name in sorted(names - self.keys.keys())]
            Collection.objects.using(self.database).bulk_create(made, ignore_conflicts=True)
            self.keys |= dict(named.values_list("name", "pk"))

        retry_on_conflict(make_missing, self.database)
