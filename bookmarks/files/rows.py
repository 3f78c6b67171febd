"""The conversion of a file's records to database rows."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, NamedTuple, Self

from django.utils.translation import gettext as _
from uuid_utils import UUID, uuid7

from bookmarks import web_url
from bookmarks.models import MAX_COLLECTION_NAME_LENGTH, MAX_TITLE_LENGTH

from . import dates
from .collection_names import shortened
from .records import CollectionRecord, FileRecord, InvalidRecord
from .report import NameCounts, printable

MAX_NAME_IN_FILE = 100_000  # characters; a longer name of a collection is refused instead of shortened


class BookmarkRow(NamedTuple):
    """The valid values of a record: the name of its collection, then the model's other fields by their names."""

    collection: str | None
    id: UUID
    url: str
    url_digest: bytes
    title: str
    created_at: datetime
    """Equals ``updated_at``, the time of the import, if the record has no usable date."""
    updated_at: datetime

    @property
    def unique_key(self) -> tuple[str, bytes]:
        """The key that is unique within a user group."""
        # An empty string stands for no collection, so that keys can be sorted. Names are never empty.
        return self.collection or "", self.url_digest

    @property
    def usable_date(self) -> datetime | None:
        """The date in the file, or None if it has no usable one."""
        return self.created_at if self.created_at != self.updated_at else None

    def updated_by(self, other: Self) -> Self:
        """Return the row with the title and the date of another one, where that has them."""
        return self._replace(title=other.title or self.title, created_at=other.usable_date or self.created_at)


@dataclass
class Block:
    """The rows of consecutive valid records, and what else there is to say about these records."""

    records: int = 0
    """The number of records, including invalid ones and those of collections."""
    characters: int = 0
    """The length of the URLs and titles."""
    rows: list[BookmarkRow] = field(default_factory=list)
    collection_names: dict[str | None, None] = field(default_factory=dict)
    """The names of the collections, with or without bookmarks, in the order in which they first appear."""
    invalid_records: list[InvalidRecord] = field(default_factory=list)
    unusable_dates: int = 0
    shortened: int = 0
    left_out: NameCounts = field(default_factory=NameCounts)

    def add(self, record: FileRecord, with_collections: bool) -> None:
        """Validate a record and add it. Raises ValueError with the reason if it is invalid."""
        if isinstance(record, InvalidRecord):
            raise ValueError(record.reason)
        name = record.collection if with_collections else None
        if name == "":
            name = None
        elif name is not None:
            _validate_text("collection", name, 1, MAX_NAME_IN_FILE)
            if len(name) > MAX_COLLECTION_NAME_LENGTH:
                name = shortened(name)
                self.shortened += 1
        if isinstance(record, CollectionRecord):
            if name is not None:
                self.collection_names[name] = None
            return
        _, url, title, _, created_at, left_out = record
        title = "" if title is None else title
        _validate_text("url", url, 1, web_url.MAX_LENGTH)
        _validate_text("title", title, 0, MAX_TITLE_LENGTH)
        digest, now = web_url.digest(url), datetime.now(UTC)
        time = now
        if created_at is not None and created_at != "":
            time = dates.parse(created_at) or now
            self.unusable_dates += time is now
        if left_out:
            self.left_out.add(left_out)
        self.characters += len(url) + len(title)
        self.collection_names[name] = None
        self.rows.append(BookmarkRow(name, uuid7(), url, digest, title, time, now))


def read_blocks(records: Iterable[FileRecord | None], size: int, with_collections: bool) -> Iterator[Block]:
    """Validate the records and yield them lazily in blocks of ``size``, or fewer where reading takes a while.

    Without ``with_collections``, the collections that the records name are ignored.
    """
    block = Block()
    for record in records:
        if record is not None:
            block.records += 1
            try:
                block.add(record, with_collections)
            except ValueError as error:
                block.invalid_records.append(InvalidRecord(record.line, printable(str(error))))
        if record is None or block.records == size:
            yield block
            block = Block()
    if block.records:
        yield block


def distinct(rows: Iterable[BookmarkRow]) -> Iterator[BookmarkRow]:
    """Yield the first of the rows with each unique key, as it is read."""
    seen: set[tuple[str, bytes]] = set()
    for row in rows:
        if (key := row.unique_key) not in seen:
            seen.add(key)
            yield row


def merged(rows: Iterable[BookmarkRow]) -> list[BookmarkRow]:
    """Return one row for each unique key, with the last title and the last usable date that its rows have."""
    by_key: dict[tuple[str, bytes], BookmarkRow] = {}
    for row in rows:
        first = by_key.setdefault(row.unique_key, row)
        if first is not row:
            by_key[row.unique_key] = first.updated_by(row)
    return list(by_key.values())


def _validate_text(name: str, value: Any, min_length: int, max_length: int) -> None:
    if not isinstance(value, str):
        raise ValueError(_("%(name)s is not text.") % {"name": name})
    if not min_length <= len(value) <= max_length:
        text = _("%(name)s is not %(min)s to %(max)s characters long.")
        raise ValueError(text % {"name": name, "min": min_length, "max": max_length})
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            text = _("%(name)s is not UTF-8. If the file has another encoding, give it, for example windows-1252.")
            raise ValueError(text % {"name": name}) from None
    if "\0" in value:
        raise ValueError(_("%(name)s contains U+0000.") % {"name": name})
