"""Recognize the fields of a bookmark by their names in the files of programs.

The names are those of columns in CSV, of keys in JSON, and of attributes in
HTML.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

from .problems import Problem, gettext_noop
from .programs import (
    FIREFOX_ANNOTATIONS,
    FIREFOX_NOTE,
    INTERNAL,
    KARAKEEP_CONTENT,
    NAMES,
    PINBOARD_NOTE,
    PINBOARD_PUBLIC,
    PINBOARD_TITLE,
    PINBOARD_URL,
    TEXT_KEYS,
)
from .records import CollectionRecord, FileRecord, InvalidRecord, JsonValue, Record
from .tag_lists import split_tags

# The field of each name. The names of a field are in the order of NAMES.
FIELD_OF = {name: field for field, names in NAMES.items() for name in names}
RANKS = {name: rank for rank, name in enumerate(FIELD_OF)}

LINE_BREAKS = re.compile(r"[\t\n\r]")

# Texts that mean that a bookmark does not have a property. The longest of them
# is "false".
EMPTY_TEXTS = {"", "0", "false", "no", "[]"}

# No name in NAMES is as long with spaces, "_" and "-".
MAX_NAME_LENGTH = 50

# Of an object whose FieldMap is kept, so that 100 of them take little memory.
MAX_NAMES = 100

SEPARATORS = dict.fromkeys(map(ord, " \t\r\n_-"))

NO_URL = Problem(gettext_noop("The entry has no URL."))


def normalized(name: str) -> str:
    """Return a name in lower case and without spaces, ``_`` and ``-``."""
    return _normalized(name[:MAX_NAME_LENGTH])


# Most objects of a file have the same keys.
@lru_cache(maxsize=1000)
def _normalized(name: str) -> str:
    return name.translate(SEPARATORS).casefold()


def means_something(value: JsonValue, name: str = "") -> bool:
    """Return whether a value should be reported if it is left out.

    Values that mean that a bookmark does not have a property are not reported.
    """
    if isinstance(value, str):
        # The length comes first, because a text may be very long.
        if len(value) > len("false") or value.lower() not in EMPTY_TEXTS:
            return True
        return value == "no" and name == PINBOARD_PUBLIC
    if isinstance(value, list):
        return any(means_something(each) for each in value)
    return bool(value)


def as_text(value: JsonValue) -> str | None:
    """Return a value of a title or a collection as text.

    An object stands for its name, as in the answers of Raindrop's and
    Linkwarden's APIs. Return None for any other value that is not text.
    """
    if isinstance(value, dict):
        value = value.get("name")
    if isinstance(value, str):
        return value
    # True and False are integers as well.
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return str(value) if is_number else None


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
        all_texts = map(as_text, filter(None, parts))
        found += filter(None, all_texts)
    return found


class FieldMap:
    """Maps the columns of a row, or the keys of an object, to the fields of a
    record.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self.names = names
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
        self.positions: dict[str, list[int]] = {field: [] for field in NAMES}
        mapped = set()
        for name in sorted(found.keys() & RANKS.keys(), key=RANKS.__getitem__):
            self.positions[FIELD_OF[name]].append(found[name])
            mapped.add(found[name])
        # The positions and names of the values to report as left out.
        self.unmapped: list[tuple[int, str]] = []
        for position, name in enumerate(names):
            if position not in mapped and normalized(name) not in INTERNAL:
                self.unmapped.append((position, name.strip()))

    def texts(
        self, field: str, values: Sequence[JsonValue], left_out: list[str]
    ) -> list[str]:
        """Return the texts in the values of a field.

        If a value has none, and means something, add its name to ``left_out``.
        """
        found: list[str] = []
        for position in self.positions[field]:
            value = values[position]
            if field == "tags" and isinstance(value, str):
                value = self.split(value)
            found_here = texts(value)
            if not found_here and means_something(value):
                left_out.append(self.names[position])
            found += found_here
        return found

    def text(
        self, field: str, values: Sequence[JsonValue], left_out: list[str]
    ) -> str | None:
        """Return the first text in the values of a field, or None.

        If there are others, add the field to ``left_out``.
        """
        found = self.texts(field, values, left_out)
        if len(found) > 1:
            left_out.append(field)
        return found[0] if found else None

    def url(self, values: Sequence[JsonValue], left_out: list[str]) -> JsonValue:
        """Return the first URL as browsers read it: without white space around
        it, line breaks and tabs.
        """
        found: JsonValue = None
        for position in self.positions["url"]:
            value = values[position]
            if value and found:
                left_out.append(self.names[position])
            found = found or value
        if isinstance(found, str):
            return LINE_BREAKS.sub("", found.strip())
        return found

    def record(self, line: int, values: Sequence[JsonValue]) -> FileRecord:
        """Return the record of these values, one for each of the names."""
        left_out = [
            name
            for position, name in self.unmapped
            if means_something(values[position], name)
        ]
        url = self.url(values, left_out)
        title = self.text("title", values, left_out)
        collection = self.text("collection", values, left_out)
        tags = tuple(self.texts("tags", values, left_out))
        note = "\n\n".join(self.texts("note", values, left_out))
        created_at: JsonValue = None
        for position in self.positions["created_at"]:
            created_at = created_at or values[position]
        if not url:
            if collection and not (title or created_at or left_out or tags or note):
                return CollectionRecord(line, collection)
            return InvalidRecord(line, NO_URL, title)
        # Several columns may have the same name.
        names = tuple(dict.fromkeys(left_out))
        return Record(line, url, title, collection, created_at, names, tags, note)


class ObjectReader:
    """Converts the objects of one file to records.

    They may be JSON objects, or the attributes of links.
    """

    def __init__(self) -> None:
        # Most objects of a file have the same keys.
        self.field_map = lru_cache(maxsize=100)(FieldMap)

    def record(self, line: int, values: Mapping[str, JsonValue]) -> FileRecord:
        values = dict(values)
        nested = values.get(KARAKEEP_CONTENT)
        if isinstance(nested, dict):
            del values[KARAKEEP_CONTENT]
            for name, value in nested.items():
                values[f"{KARAKEEP_CONTENT}.{name}"] = value
        note = note_of_firefox(values.get(FIREFOX_ANNOTATIONS))
        if note:
            del values[FIREFOX_ANNOTATIONS]
            values[f"{FIREFOX_ANNOTATIONS}.value"] = note
        names = tuple(values)
        field_map = self.field_map if len(names) <= MAX_NAMES else FieldMap
        return field_map(names).record(line, list(values.values()))


def note_of_firefox(annotations: JsonValue) -> JsonValue:
    """Return the note among the annotations of a bookmark, or None."""
    if not isinstance(annotations, list):
        return None
    for annotation in annotations:
        if isinstance(annotation, dict) and annotation.get("name") == FIREFOX_NOTE:
            return annotation.get("value")
    return None
