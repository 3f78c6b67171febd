"""The records of a file."""

from datetime import datetime
from typing import Any, NamedTuple

from bookmarks.models import Bookmark, Collection


class Record(NamedTuple):
    """A bookmark as a file describes it. The values are not validated and may have any type."""

    line: int
    """The number of the line on which the record begins, or the number of the bookmark in a JSON file."""
    url: Any = ""
    title: Any = ""
    collection: Any = None
    """The collection's name, or None."""
    created_at: Any = None
    """A value that ``programs.parse_date`` converts; None or an empty string means now."""
    left_out: tuple[str, ...] = ()
    """The names of what the file says about the bookmark and a bookmark has no place for, such as its tags."""


class CollectionRecord(NamedTuple):
    """A collection that the file names without any bookmark."""

    line: int
    collection: Any


FIELDS = Record._fields[1:-1]
"""The keys of a JSON object and the columns of a CSV file."""

OWNER_FIELDS = ("team", "environment", "user_group_id")
"""The keys and columns that name the owner, in a file with bookmarks of several user groups. Imports ignore them."""


NOTHING = {"", "0", "false", "no", "[]"}
"""Texts that say that a bookmark has no such property, in lower case."""


def means_something(value: Any) -> bool:
    """Return whether a value that is left out should be told."""
    return bool(value) and not (isinstance(value, str) and len(value) <= len("false") and value.lower() in NOTHING)


class InvalidRecord(NamedTuple):
    """A record that cannot be read or stored."""

    line: int
    """As in Record."""
    reason: str
    title: Any = None


FileRecord = Record | CollectionRecord | InvalidRecord


class UnreadableFile(Exception):
    """The rest of the file cannot be read. The argument is the reason."""


def to_dict(item: Bookmark | Collection, with_owner: bool = False) -> dict[str, str | None]:
    """Return the FIELDS of a bookmark as text, as they are written to a file, or only that of an empty collection.

    With ``with_owner``, the OWNER_FIELDS come first.
    """
    values: dict[str, str | None] = {}
    if with_owner:
        group = item.user_group
        values = dict(zip(OWNER_FIELDS, (group.team.name, group.environment, group.provided_id), strict=True))
    if isinstance(item, Collection):
        return {**values, "collection": item.name}
    collection = item.collection.name if item.collection else None
    time = format_timestamp(item.created_at)
    return {**values, "url": item.url, "title": item.title, "collection": collection, "created_at": time}


def format_timestamp(value: datetime) -> str:
    """Return a UTC time as in RFC 3339."""
    return value.isoformat().replace("+00:00", "Z")
