"""The records of a file, and their conversion to database rows."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from itertools import islice
from typing import Any, NamedTuple, Self

from django.utils.translation import gettext as _
from uuid_utils import UUID, uuid7

from bookmarks import web_url
from bookmarks.models import MAX_COLLECTION_NAME_LENGTH, MAX_TITLE_LENGTH, Bookmark


class Record(NamedTuple):
    """A bookmark as a file describes it. The values are not validated and may have any type."""

    line: int
    """The number of the line on which the record begins."""
    url: Any = ""
    title: Any = ""
    collection: Any = None
    """The collection's name, or None."""
    created_at: Any = None
    """A datetime or an RFC 3339 string; None means now."""

    @classmethod
    def from_mapping(cls, line: int, values: Mapping[str, Any]) -> Self:
        """Return a record of the values whose keys are in FIELDS; the others are ignored."""
        get = values.get
        return cls(line, get("url", ""), get("title", ""), get("collection"), get("created_at"))


FIELDS = Record._fields[1:]
"""The keys of a JSON object and the columns of a CSV file."""

OWNER_FIELDS = ("team", "environment", "user_group_id")
"""The keys and columns that name the owner, in a file with bookmarks of several user groups. Imports ignore them."""


class InvalidRecord(NamedTuple):
    """A record that cannot be read or stored."""

    line: int
    """The number of the line on which the record begins."""
    reason: str


class BookmarkRow(NamedTuple):
    """The valid values of a record: the name of its collection, then the model's other fields by their names."""

    collection: str | None
    id: UUID
    url: str
    url_digest: bytes
    title: str
    created_at: datetime
    updated_at: datetime

    @property
    def unique_key(self) -> tuple[str, bytes]:
        """The key that is unique within a user group."""
        # An empty string stands for no collection, so that keys can be sorted. Names are never empty.
        return self.collection or "", self.url_digest


@dataclass
class Block:
    """The rows of consecutive valid records, and the invalid records among them."""

    rows: list[BookmarkRow]
    invalid_records: list[InvalidRecord]

    @cached_property
    def collection_names(self) -> set[str | None]:
        return {row.collection for row in self.rows}


def read_blocks(records: Iterable[Record | InvalidRecord], size: int, with_collections: bool) -> Iterator[Block]:
    """Validate the records and yield them lazily in blocks of ``size``.

    Without ``with_collections``, the collections that the records name are ignored.
    """
    remaining = iter(records)
    while part := list(islice(remaining, size)):
        block = Block([], [])
        for record in part:
            try:
                block.rows.append(_to_row(record, with_collections))
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


def to_dict(bookmark: Bookmark) -> dict[str, str | None]:
    """Return the FIELDS of a bookmark as text, as they are written to a file."""
    return {
        "url": bookmark.url,
        "title": bookmark.title,
        "collection": bookmark.collection.name if bookmark.collection else None,
        "created_at": format_timestamp(bookmark.created_at),
    }


def to_dict_with_owner(bookmark: Bookmark) -> dict[str, str | None]:
    """Return the OWNER_FIELDS and the FIELDS of a bookmark."""
    group = bookmark.user_group
    owner = (group.team.name, group.environment, group.provided_id)
    return {**dict(zip(OWNER_FIELDS, owner, strict=True)), **to_dict(bookmark)}


def format_timestamp(value: datetime) -> str:
    """Return a UTC time as in RFC 3339."""
    return value.isoformat().replace("+00:00", "Z")


def _to_row(record: Record | InvalidRecord, with_collection: bool) -> BookmarkRow:
    """Convert a record to a row. Raises ValueError with the reason if it is invalid."""
    if isinstance(record, InvalidRecord):
        raise ValueError(record.reason)
    _, url, title, collection, created_at = record
    _validate_text("url", url, 1, web_url.MAX_LENGTH)
    _validate_text("title", title, 0, MAX_TITLE_LENGTH)
    if not with_collection:
        collection = None
    elif collection is not None:
        _validate_text("collection", collection, 1, MAX_COLLECTION_NAME_LENGTH)
    now = datetime.now(UTC)
    created_at = now if created_at is None else _to_datetime(created_at)
    return BookmarkRow(collection, uuid7(), url, web_url.digest(url), title, created_at, now)


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
            raise ValueError(_("%(name)s is not UTF-8.") % {"name": name}) from None
    if "\0" in value:
        raise ValueError(_("%(name)s contains U+0000.") % {"name": name})


def _to_datetime(value: Any) -> datetime:
    try:
        time = value if isinstance(value, datetime) else datetime.fromisoformat(value)
        return time.astimezone(UTC) if time.tzinfo else time.replace(tzinfo=UTC)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(_("created_at is not a date and time such as 2026-01-31T09:26:53Z.")) from None
