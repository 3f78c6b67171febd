"""What readers yield, and writers write."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

# A value of a file. Booleans are integers as well.
JsonValue: TypeAlias = (
    "str | int | float | Sequence[JsonValue] | Mapping[str, JsonValue] | None"
)

# The keys of a JSON object and the columns of a CSV file that are written. They
# are also attributes of Record.
FIELDS = ("url", "title", "collection", "created_at", "tags", "note")


class Record(NamedTuple):
    """A bookmark as a file describes it.

    The values are not validated. The URL and the date may have any type. In a
    record to be written, they are text, and the date is as in RFC 3339.
    """

    # The number of the line on which the record begins. In a JSON file, the
    # number of the bookmark.
    line: int
    url: JsonValue = ""
    title: str | None = ""
    # The name of the collection, or None.
    collection: str | None = None
    # A value for ``parse_date``. None and "" mean that there is no date.
    created_at: JsonValue = None
    tags: Sequence[str] = ()
    note: str = ""


class CollectionRecord(NamedTuple):
    """A collection without any bookmark."""

    # As in Record. For an empty folder in a JSON file, the number of
    # bookmarks before it.
    line: int
    collection: str | None


class InvalidRecord(NamedTuple):
    """A record that cannot be read."""

    # As in Record.
    line: int
    # Usually a Problem.
    reason: str
    title: str | None = None


FileRecord = Record | CollectionRecord | InvalidRecord
WrittenRecord = Record | CollectionRecord


def to_dict(record: WrittenRecord) -> dict[str, Any]:
    """Return the FIELDS of a bookmark, or only the name of a collection."""
    if isinstance(record, CollectionRecord):
        return {"collection": record.collection}
    return {name: getattr(record, name) for name in FIELDS}
