"""Recognize the fields of a bookmark by their names in the files of programs.

The names are those of columns in CSV, of keys in JSON, and of attributes in
HTML.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

from .problems import gettext_noop
from .programs import (
    KARAKEEP_CONTENT,
    NAMES,
    PINBOARD_NOTE,
    PINBOARD_TITLE,
    PINBOARD_URL,
    TEXT_KEYS,
)
from .records import CollectionRecord, FileRecord, InvalidRecord, JsonValue, Record
from .tag_lists import split_tags

LINE_BREAKS = re.compile(r"[\t\n\r]")

# No name in NAMES is as long with spaces, "_" and "-".
MAX_NAME_LENGTH = 50

# Of the names of an object whose FieldMap is kept, so that the kept ones take
# little memory.
MAX_NAMES = 100

SEPARATORS = dict.fromkeys(map(ord, " \t\r\n_-"))

NO_URL = gettext_noop("The entry has no URL.")


def normalized(name: str) -> str:
    """Return a name in lower case and without spaces, ``_`` and ``-``."""
    return _normalized(name[:MAX_NAME_LENGTH])


# Most objects of a file have the same keys.
@lru_cache(maxsize=1000)
def _normalized(name: str) -> str:
    return name.translate(SEPARATORS).casefold()


def as_text(value: JsonValue) -> str | None:
    """Return a value of a title or a collection as text.

    An object stands for its name, as in the answers of Raindrop's and
    Linkwarden's APIs. Return None for any other value that is not text.
    """
    if isinstance(value, dict):
        value = value.get("name")
    # Not isinstance(), because True and False are integers as well.
    return str(value) if type(value) in (str, int, float) else None


def texts(value: JsonValue) -> list[str]:
    """Return the texts and numbers in a value, in a list of values, and under
    TEXT_KEYS in an object among them.
    """
    # Most values are texts. This takes a quarter of the time of the loop.
    if isinstance(value, str):
        return [value] if value else []
    found: list[str] = []
    for item in value if isinstance(value, list) else [value]:
        parts = [item]
        if isinstance(item, dict):
            parts = [item.get(key) for key in TEXT_KEYS]
        found += filter(None, map(as_text, filter(None, parts)))
    return found


def first_text(value: JsonValue) -> str | None:
    """Return the first text or number in a value, or None."""
    if isinstance(value, str):
        return value
    return next(iter(texts(value)), None)


class FieldMap:
    """Maps the columns of a row, or the keys of an object, to the fields of a
    record.
    """

    def __init__(self, names: Sequence[str]) -> None:
        # The position of each name. Of several equal names, the first counts.
        found: dict[str, int] = {}
        for position, name in enumerate(names):
            found.setdefault(normalized(name), position)
        is_pinboard = {PINBOARD_URL, PINBOARD_TITLE} <= found.keys()
        if is_pinboard and found.keys().isdisjoint(NAMES["title"]):
            found["title"] = found.pop(PINBOARD_TITLE)
        self.split: Callable[[str], JsonValue] = split_tags
        if PINBOARD_NOTE in found:
            self.split = str.split
        # The positions of the names of each field, in the order of NAMES.
        self.positions = {
            field: [found[name] for name in known if name in found]
            for field, known in NAMES.items()
        }

    def first(self, field: str, row: Sequence[JsonValue]) -> JsonValue:
        """Return the first value of a field that is not empty, or None."""
        for position in self.positions[field]:
            if row[position]:
                return row[position]
        return None

    def texts(self, field: str, row: Sequence[JsonValue]) -> list[str]:
        """Return the texts in the values of a field."""
        found: list[str] = []
        for position in self.positions[field]:
            value = row[position]
            if field == "tags" and isinstance(value, str):
                value = self.split(value)
            found += texts(value)
        return found

    def record(
        self, line: int, row: Sequence[JsonValue], folder: str = ""
    ) -> FileRecord:
        """Return the record of a row, which has a value for each of the names.

        The folder around a bookmark has precedence over the collection that it
        names.
        """
        url = self.first("url", row)
        if isinstance(url, str):
            url = url.strip()
            if not url.isprintable():
                # as browsers read it
                url = LINE_BREAKS.sub("", url)
        title = first_text(self.first("title", row))
        collection = first_text(self.first("collection", row))
        created_at = self.first("created_at", row)
        tags = tuple(self.texts("tags", row))
        note = "\n\n".join(self.texts("note", row))
        if url:
            place = folder or collection
            return Record(line, url, title, place, created_at, tags, note)
        if collection and not (title or created_at or tags or note):
            return CollectionRecord(line, folder or collection)
        return InvalidRecord(line, NO_URL, title)


# Most objects of a file have the same keys.
_field_map = lru_cache(maxsize=20)(FieldMap)


def record_of(
    line: int, values: Mapping[str, JsonValue], folder: str = ""
) -> FileRecord:
    """Return the record of a JSON object, or of the attributes of a link, inside
    a folder or outside of any.
    """
    nested = values.get(KARAKEEP_CONTENT)
    if isinstance(nested, dict):
        inner = {f"{KARAKEEP_CONTENT}.{name}": nested[name] for name in nested}
        values = {**values, **inner}
    names = tuple(values)
    field_map = _field_map if len(names) <= MAX_NAMES else FieldMap
    return field_map(names).record(line, list(values.values()), folder)
