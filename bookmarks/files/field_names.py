"""Recognize the fields of a bookmark by their names in the files of programs.

The names are those of columns in CSV, of keys in JSON, and of attributes in
HTML. Here they are all as ``normalized`` returns them.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

from django.utils.translation import gettext as _

from .records import CollectionRecord, FileRecord, InvalidRecord, JsonValue, Record
from .tag_lists import split_tags

# The key under which Karakeep has an object with the URL. The names of its
# values begin with "content." here.
NESTED = "content"

# The names of each field. If a record has several of them, the first one here
# counts. Only tags and notes are taken from all of them.
NAMES: dict[str, tuple[str, ...]] = {
    "url": ("url", "uri", "href", "link", "articleurl", "givenurl", "content.url"),
    "title": ("title", "name", "articletitle", "resolvedtitle", "giventitle"),
    "collection": ("collection", "folder"),
    "created_at": (
        "createdat",
        "created",
        "adddate",
        "addedat",
        "added",
        "timeadded",
        "timestamp",
        "time",
        "dateadded",
        "dateaddedutc",
        "savedat",
        "saveddate",
        "lastinteractiondate",
        "lastaccessed",
        "date",
    ),
    "tags": ("tags", "tagnames", "labels", "documenttags"),
    "note": (
        "note",
        "description",
        "customdescription",
        "extended",
        "summary",
        "excerpt",
        "articleexcerpt",
        "selection",
        "notes",
        "comment",
        "comments",
        "highlights",
        "annotations",
        "annos.value",
    ),
}

# The key of the annotations of a bookmark in backups of older versions of
# Firefox, and the name of the note among them.
ANNOTATIONS = "annos"
FIREFOX_NOTE = "bookmarkProperties/description"

# The keys of the texts in an object that is a tag or a highlight.
TEXT_KEYS = (
    "name",
    "label",
    "quote",
    "text",
    "content",
    "annotation",
    "note",
    "comment",
)

# Names of values that have no meaning outside the program that wrote them.
# They are not reported as left out.
IDENTIFIERS = {
    "collectionid",
    "content.type",
    "guid",
    "hash",
    "hashedgivenurl",
    "hashedurl",
    "id",
    "index",
    "meta",
    "parent",
    "parentid",
    "root",
    "slug",
    "type",
    "typecode",
    "uid",
}

LINE_BREAKS = re.compile(r"[\t\n\r]")

# Texts that mean that a bookmark does not have a property. The longest of them
# is "false".
EMPTY_TEXTS = {"", "0", "false", "no", "[]"}


# No name in this module is as long with spaces, "_" and "-".
MAX_NAME_LENGTH = 50

SEPARATORS = dict.fromkeys(map(ord, " \t\r\n_-"))


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
        # Pinboard marks a private bookmark like this.
        return value == "no" and name == "shared"
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
    found: list[str] = []
    for item in value if isinstance(value, list) else [value]:
        parts = [item]
        if isinstance(item, dict):
            parts = [item.get(key) for key in TEXT_KEYS]
        all_texts = map(as_text, filter(None, parts))
        found += filter(None, all_texts)
    return found


def clean_url(url: JsonValue) -> JsonValue:
    """Return the URL without white space around it, and without line breaks
    and tabs, as browsers do.
    """
    return LINE_BREAKS.sub("", url.strip()) if isinstance(url, str) else url


class FieldMap:
    """Maps the columns of a row, or the keys of an object, to the fields of a
    record.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self.names = names
        self.length = len(names)
        # The position of each name. Of several equal names, the first counts.
        self.found: dict[str, int] = {}
        for position, name in enumerate(names):
            self.found.setdefault(normalized(name), position)
        self.rename_title_of_pinboard()
        # Only Pinboard has the name "extended". It separates tags by spaces.
        is_pinboard = "extended" in self.found
        self.split: Callable[[str], JsonValue] = (
            str.split if is_pinboard else split_tags
        )
        self.url = self.position("url")
        self.title = self.position("title")
        self.collection = self.position("collection")
        self.created_at = self.position("created_at")
        self.tags = self.positions("tags")
        self.notes = self.positions("note")
        mapped = {self.url, self.title, self.collection}
        # Further dates are not reported.
        mapped.update(self.tags, self.notes, self.positions("created_at"))
        # The positions and names of the values to report as left out.
        self.unmapped = [
            (position, name.strip())
            for position, name in enumerate(names)
            if position not in mapped and normalized(name) not in IDENTIFIERS
        ]

    def rename_title_of_pinboard(self) -> None:
        """Let "description" be the title if nothing else is and the URL is
        named "href", as in the JSON files of Pinboard.
        """
        names = self.found.keys()
        if {"href", "description"} <= names and names.isdisjoint(NAMES["title"]):
            self.found["title"] = self.found.pop("description")

    def positions(self, field: str) -> list[int]:
        """Return the positions of the names of a field, in the order of
        NAMES.
        """
        return [self.found[name] for name in NAMES[field] if name in self.found]

    def position(self, field: str) -> int:
        """Return the position of the first name of a field, or ``length`` if
        it has none.
        """
        return next(iter(self.positions(field)), self.length)

    def text_at(
        self, position: int, values: list[JsonValue], left_out: list[str]
    ) -> str | None:
        """Return the text in the value at this position.

        If it has none, and means something, add its name to ``left_out``.
        """
        value = values[position]
        text = as_text(value)
        if text is None and means_something(value):
            left_out.append(self.names[position])
        return text

    def texts_at(
        self, positions: list[int], values: list[JsonValue], left_out: list[str]
    ) -> list[str]:
        """Return the texts in the values at these positions.

        If a value has none, and means something, add its name to ``left_out``.
        """
        found: list[str] = []
        for position in positions:
            value = values[position]
            found_here = texts(value)
            if not found_here and means_something(value):
                left_out.append(self.names[position])
            found += found_here
        return found

    def tags_of(self, value: JsonValue) -> JsonValue:
        """Return the list of tags in a value, which may be a text."""
        if isinstance(value, str):
            return self.split(value)
        # Answers of Pocket's API have an object for each tag.
        return list(value) if isinstance(value, dict) else value

    def record(self, line: int, row: Sequence[JsonValue]) -> FileRecord:
        """Return the record of these values, one for each of the names."""
        # The last value is at the position of fields that have no name.
        values = [*row, None]
        left_out = [
            name
            for position, name in self.unmapped
            if means_something(values[position], name)
        ]
        title = self.text_at(self.title, values, left_out)
        collection = self.text_at(self.collection, values, left_out)
        for position in self.tags:
            values[position] = self.tags_of(values[position])
        tags = self.texts_at(self.tags, values, left_out)
        note = "\n\n".join(self.texts_at(self.notes, values, left_out))
        url = clean_url(values[self.url])
        created_at = values[self.created_at]
        if not url:
            if collection and not (title or created_at or left_out or tags or note):
                return CollectionRecord(line, collection)
            return InvalidRecord(line, _("The entry has no URL."), title or None)
        # Several columns may have the same name.
        names = tuple(dict.fromkeys(left_out))
        return Record(
            line, url, title, collection, created_at, names, tuple(tags), note
        )


class ObjectReader:
    """Converts the objects of one file to records.

    They may be JSON objects, or the attributes of links.
    """

    def __init__(self) -> None:
        # Most objects of a file have the same keys.
        self.field_map = lru_cache(maxsize=100)(FieldMap)

    def record(self, line: int, values: Mapping[str, JsonValue]) -> FileRecord:
        values = dict(values)
        nested = values.get(NESTED)
        if isinstance(nested, dict):
            del values[NESTED]
            for name, value in nested.items():
                values[f"{NESTED}.{name}"] = value
        note = note_of_firefox(values.get(ANNOTATIONS))
        if note:
            del values[ANNOTATIONS]
            values[f"{ANNOTATIONS}.value"] = note
        return self.field_map(tuple(values)).record(line, list(values.values()))


def note_of_firefox(annotations: JsonValue) -> JsonValue:
    """Return the note among the annotations of a bookmark, or None."""
    if not isinstance(annotations, list):
        return None
    for annotation in annotations:
        if isinstance(annotation, dict) and annotation.get("name") == FIREFOX_NOTE:
            return annotation.get("value")
    return None
