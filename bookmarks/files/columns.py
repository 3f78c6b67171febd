"""The names that programs give to the values of a bookmark: columns of CSV, keys of JSON."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.utils.translation import gettext as _

from .records import FIELDS, CollectionRecord, FileRecord, InvalidRecord, Record, means_something

NAMES = {
    "url": ("url", "uri", "href", "content.url"),
    "title": ("title", "name"),
    "collection": ("collection", "folder"),
    "created_at": (
        "created_at",
        "created",
        "createdat",
        "time_added",
        "timestamp",
        "time",
        "date_added",
        "dateadded",
        "savedat",
    ),
}
"""The names of each field, in lower case. If there are several in one record, the first one counts."""

IDENTIFIERS = {
    "_id", "content.type", "guid", "hash", "hashed_given_url", "hashed_url", "id", "index", "meta", "root", "slug",
    "type", "typecode", "uid",
}  # fmt: skip
"""Names of values that have no meaning outside of the program. Nobody needs to know that they are left out."""

NESTED = "content"
"""The key under which Karakeep has an object with the URL."""

MAX_LAYOUTS = 100  # that are kept
MAX_KEPT_LAYOUT = 2000  # characters of its names


class Layout:
    """The meaning of the columns of a row, or of the keys of an object, by their positions."""

    def __init__(self, names: Sequence[str]) -> None:
        positions = {name.strip().casefold(): position for position, name in reversed(list(enumerate(names)))}
        accepted = dict(NAMES)
        if "href" in positions and "url" not in positions:
            accepted["title"] += ("description",)  # Pinboard's name of the title
        found = [[positions[name] for name in accepted[field] if name in positions] for field in FIELDS]
        self.length = len(names)
        self.url_positions = found[0]
        self.first_positions = [of_field[0] if of_field else self.length for of_field in found]
        self.others = [
            (position, name.strip())
            for position, name in enumerate(names)
            if position not in self.first_positions and name.strip().casefold() not in IDENTIFIERS
        ]

    def record(self, line: int, values: list[Any]) -> FileRecord:
        """Return the record of the values. There may be more of them than names, or fewer."""
        number = min(len(values), self.length)
        url, title, collection, created_at = [
            values[position] if position < number else None for position in self.first_positions
        ]
        left_out = self.left_out(values[:number]) if self.others else ()
        if not url:
            if collection and not (title or created_at or left_out):
                return CollectionRecord(line, collection)
            if not self.url_positions:
                return InvalidRecord(line, _("The entry has no URL."))
            url = next(filter(None, (values[position] for position in self.url_positions if position < number)), "")
        return Record(line, url.strip() if isinstance(url, str) else url, title, collection, created_at, left_out)

    def left_out(self, values: list[Any]) -> tuple[str, ...]:
        names: dict[str, None] = {}
        for position, name in self.others:
            if position >= len(values):
                break
            if means_something(values[position]):
                names[name] = None
        return tuple(names)


class ObjectReader:
    """Converts the JSON objects of one file to records."""

    def __init__(self) -> None:
        self.layouts: dict[tuple[str, ...], Layout] = {}

    def record(self, line: int, values: Mapping[str, Any]) -> FileRecord:
        if isinstance(nested := values.get(NESTED), dict):
            values = {**values, NESTED: None, **{f"{NESTED}.{name}": value for name, value in nested.items()}}
        names = tuple(values)
        layout = self.layouts.get(names)
        if layout is None:
            if len(self.layouts) == MAX_LAYOUTS:
                self.layouts.clear()
            layout = Layout(names)
            if sum(map(len, names)) <= MAX_KEPT_LAYOUT:
                self.layouts[names] = layout
        return layout.record(line, list(values.values()))
