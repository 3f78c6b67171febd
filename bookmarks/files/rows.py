"""The conversion of a file's records to database rows."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from itertools import islice
from typing import Any, NamedTuple

from django.utils.translation import gettext as _
from uuid_utils import UUID, uuid7

from bookmarks import web_url
from bookmarks.models import MAX_TITLE_LENGTH

from . import dates
from .collection_names import shortened
from .records import CollectionRecord, FileRecord, InvalidRecord

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


@dataclass
class Block:
    """The rows of consecutive valid records, and what else there is to say about these records."""

    rows: list[BookmarkRow] = field(default_factory=list)
    empty_collections: list[str] = field(default_factory=list)
    invalid_records: list[InvalidRecord] = field(default_factory=list)
    unusable_dates: int = 0
    shortened: int = 0
    left_out: Counter[str] = field(default_factory=Counter)

    @cached_property
    def collection_names(self) -> set[str | None]:
        return {*self.empty_collections, *(row.collection for row in self.rows)}

    def add(self, record: FileRecord, with_collections: bool) -> None:
        """Validate a record and add it. Raises ValueError with the reason if it is invalid."""
        if isinstance(record, InvalidRecord):
            raise ValueError(record.reason)
        name = record.collection if with_collections else None
        if name == "":
            name = None
        elif name is not None:
            _validate_text("collection", name, 1, MAX_NAME_IN_FILE)
            name = shortened(name)
        if isinstance(record, CollectionRecord):
            if name is not None:
                self.empty_collections.append(name)
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
        self.shortened += name is not None and name != record.collection
        if left_out:
            self.left_out.update(left_out)
        self.rows.append(BookmarkRow(name, uuid7(), url, digest, title, time, now))


def read_blocks(records: Iterable[FileRecord], size: int, with_collections: bool) -> Iterator[Block]:
    """Validate the records and yield them lazily in blocks of ``size``.

    Without ``with_collections``, the collections that the records name are ignored.
    """
    remaining = iter(records)
    while part := list(islice(remaining, size)):
        block = Block()
        for record in part:
            try:
                block.add(record, with_collections)
            except ValueError as error:
                block.invalid_records.append(InvalidRecord(record.line, str(error)))
        yield block


def distinct(rows: Iterable[BookmarkRow]) -> Iterator[BookmarkRow]:
    """Yield the first of the rows with each unique key, as it is read."""
    seen: set[tuple[str, bytes]] = set()
    for row in rows:
        if (key := row.unique_key) not in seen:
            seen.add(key)
            yield row


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
