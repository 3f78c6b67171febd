"""The records of a file, and the rows that are made of them."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from typing import Any, NamedTuple

from django.utils import timezone
from uuid_utils import uuid7

from bookmarks import web_url


class Record(NamedTuple):
    """What a file says, whatever it is."""

    line: int
    """Where in the file it begins."""
    url: Any
    title: Any = ""
    collection: Any = None
    """Its name; None: none."""
    created_at: Any = None
    """A datetime, or RFC 3339's text; None: now."""


class Unreadable(NamedTuple):
    line: int
    reason: str


class Row(NamedTuple):
    """What is stored."""

    id: str
    url: str
    digest: bytes
    title: str
    collection: str | None
    created_at: datetime


@dataclass
class Block:
    """The rows of consecutive records, and the records that cannot be stored."""

    rows: list[Row]
    refusals: list[Unreadable]

    @property
    def names(self) -> set[str | None]:
        """The names of the rows' collections."""
        return {row.collection for row in self.rows}


def read_blocks(records: Iterator[Record | Unreadable], size: int, with_collections: bool) -> Iterator[Block]:
    """Yield blocks of ``size`` records, with the collections that the records name or without."""
    while part := list(islice(records, size)):
        block = Block([], [])
        for record in part:
            try:
                block.rows.append(checked(record, with_collections))
            except ValueError as error:
                block.refusals.append(Unreadable(record.line, str(error)))
        yield block


def checked(record: Record | Unreadable, with_collection: bool) -> Row:
    """Return what is stored of the record, with its collection or without.

    Raises ValueError with the reason why it cannot be stored.
    """
    if isinstance(record, Unreadable):
        raise ValueError(record.reason)
    _, url, title, collection, created_at = record
    _check_text("url", url, 1, web_url.MAX_LENGTH)
    _check_text("title", title, 0, 1000)
    if not with_collection:
        collection = None
    elif collection is not None:
        _check_text("collection", collection, 1, 255)
    return Row(str(uuid7()), url, web_url.digest(url), title, collection, _time(created_at))


def _check_text(name: str, value: Any, min_length: int, max_length: int) -> None:
    if not isinstance(value, str):
        raise ValueError(f"{name} is not text.")
    if not min_length <= len(value) <= max_length:
        raise ValueError(f"{name} is not {min_length} to {max_length} characters long.")
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise ValueError(f"{name} is not UTF-8.") from None
    if "\0" in value:
        raise ValueError(f"{name} contains U+0000.")


def _time(value: Any) -> datetime:
    if value is None:
        return timezone.now()
    try:
        time = value if isinstance(value, datetime) else datetime.fromisoformat(value)
        return time.astimezone(UTC) if time.tzinfo else time.replace(tzinfo=UTC)
    except (TypeError, ValueError, OverflowError):
        raise ValueError("created_at is not a date and time as 2026-01-31T09:26:53Z.") from None


def timestamp(value: datetime) -> str:
    return value.isoformat().replace("+00:00", "Z")
