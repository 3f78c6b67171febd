"""The records that readers yield, and the values that writers write."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from bookmarks.models import Bookmark, Collection
from usergroups.api.fields import rfc_3339_text

# A value of a file. Booleans are integers as well.
JsonValue: TypeAlias = (
    "str | int | float | Sequence[JsonValue] | Mapping[str, JsonValue] | None"
)

# The keys of a JSON object and the columns of a CSV file in an export. They
# are also attributes of Record.
FIELDS = ("url", "title", "collection", "created_at", "tags", "note")


class Record(NamedTuple):
    """A bookmark as a file describes it.

    The values are not validated. The URL and the date may have any type.
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
    # The names of values that the file has for the bookmark and that are not
    # imported, such as its icon.
    left_out: tuple[str, ...] = ()
    tags: Sequence[str] = ()
    note: str = ""


class CollectionRecord(NamedTuple):
    """A collection that the file names without any bookmark."""

    # As in Record. For an empty folder in a JSON file, the number of
    # bookmarks before it.
    line: int
    collection: str | None


class InvalidRecord(NamedTuple):
    """A record that cannot be read or stored."""

    # As in Record.
    line: int
    reason: str
    title: str | None = None


FileRecord = Record | CollectionRecord | InvalidRecord


def to_dict(item: Bookmark | Collection) -> dict[str, Any]:
    """Return the FIELDS of a bookmark for an export: the tags as a list, and
    the others as text.

    For an empty collection, return only its name.
    """
    if isinstance(item, Collection):
        return {"collection": item.name}
    return {
        "url": item.url,
        "title": item.title,
        "collection": item.collection.name if item.collection else None,
        "created_at": rfc_3339_text(item.created_at),
        "tags": item.tags,
        "note": item.note,
    }
