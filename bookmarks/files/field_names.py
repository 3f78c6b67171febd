"""Recognize the fields of a bookmark by their names in the files of programs.

The names are those of columns in CSV, of keys in JSON, and of attributes in
HTML. Here they are all as ``normalized`` returns them.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from django.utils.translation import gettext as _

from usergroups.api import strict_json

from .records import CollectionRecord, FileRecord, InvalidRecord, Record

# The key under which Karakeep has an object with the URL. The names of its
# values begin with "content." here.
NESTED = "content"

# The names of each field. If a record has several of them, the first one here
# counts. Only tags and notes are taken from all of them.
NAMES = {
    "url": ("url", "uri", "href", "link", "articleurl", "content.url"),
    "title": ("title", "name", "articletitle"),
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
        "date",
    ),
    "tags": ("tags", "tagnames", "labels", "documenttags"),
    "note": (
        "note",
        "description",
        "extended",
        "excerpt",
        "articleexcerpt",
        "selection",
        "notes",
        "highlights",
        "annotations",
        "annos.value",
    ),
}

# The fields that a record has one value for.
SINGLE_FIELDS = ("url", "title", "collection", "created_at")

# The name of the note among the annotations of a bookmark in backups of older
# versions of Firefox, which are under the key ANNOTATIONS.
ANNOTATIONS = "annos"
FIREFOX_NOTE = "bookmarkProperties/description"

# The keys of the texts in an object that is a tag or a highlight.
TEXT_KEYS = ("name", "label", "quote", "text", "annotation", "note", "comment")

# Another name for the title if the URL is named "href", as in the JSON files
# of Pinboard.
PINBOARD_TITLE = "description"

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


def means_something(value: Any, name: str = "") -> bool:
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


def as_text(field: str, value: Any, left_out: dict[str, None]) -> str | None:
    """Return a value of a title or a collection as text.

    An object stands for its name, as in the answers of Raindrop's and
    Linkwarden's APIs. Return None for any other value that is not text, and
    add ``field`` to ``left_out`` if it means something.
    """
    text = value.get("name") if isinstance(value, dict) else value
    # True and False are integers as well.
    if isinstance(text, int | float) and not isinstance(text, bool):
        return str(text)
    if isinstance(text, str):
        return text
    if means_something(value):
        left_out[field] = None
    return None


def texts(value: Any) -> list[str]:
    """Return the texts and numbers in a value, in a list of values, and under
    TEXT_KEYS in an object among them.
    """
    found: list[Any] = []
    for item in value if isinstance(value, list) else [value]:
        if isinstance(item, dict):
            found += [item.get(key) for key in TEXT_KEYS]
        else:
            found.append(item)
    # True and False are integers as well.
    return [
        str(each)
        for each in found
        if each and isinstance(each, str | int | float) and each is not True
    ]


def note_of_firefox(annotations: Any) -> dict[str, list[Any]]:
    """Return the note among the annotations, and the others."""
    found: dict[str, list[Any]] = {f"{ANNOTATIONS}.value": [], ANNOTATIONS: []}
    for each in annotations if isinstance(annotations, list) else [annotations]:
        if isinstance(each, dict) and each.get("name") == FIREFOX_NOTE:
            found[f"{ANNOTATIONS}.value"].append(each.get("value"))
        else:
            found[ANNOTATIONS].append(each)
    return found


# A string of Python in single or double quotes, and a list of such strings.
# The possessive quantifiers make a search take linear time.
PYTHON_STRING = r"""(?:'(?:[^'\\]|\\.)*+'|"(?:[^"\\]|\\.)*+")"""
PYTHON_LIST = re.compile(rf"\[(?:\s*+{PYTHON_STRING}\s*+,?+)*+\s*+\]", re.DOTALL)


def unquoted(string: str) -> str:
    """Return the text of a string of Python, of whose escapes only those of
    quotation marks and backslashes occur in tags.
    """
    return re.sub(r"\\(.)", r"\1", string[1:-1], flags=re.DOTALL)


def split_tags(text: str) -> list[str]:
    """Return the tags that are separated by commas, or else by ``|``.

    The text may also be a list in JSON or in Python.
    """
    if text.startswith("["):
        try:
            return texts(strict_json.loads(text.encode()))
        except ValueError:
            pass
        if PYTHON_LIST.fullmatch(text):
            strings = re.findall(PYTHON_STRING, text, re.DOTALL)
            return [unquoted(string) for string in strings]
        text = text.strip("[]")
    separator = "," if "," in text else "|"
    return [tag.strip().strip('"') for tag in text.split(separator)]


class FieldMap:
    """Maps the columns of a row, or the keys of an object, to the fields of a
    record.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self.length = len(names)
        self.names = names
        # translated once to save time
        self.no_url = _("The entry has no URL.")
        # The position of each name. Of several equal names, the first counts.
        found: dict[str, int] = {}
        for position, name in enumerate(names):
            found.setdefault(normalized(name), position)
        accepted = dict(NAMES)
        # Only Pinboard has this name. It separates tags by spaces.
        self.is_of_pinboard = "extended" in found
        if "href" in found and "url" not in found:
            accepted["title"] += (PINBOARD_TITLE,)
        # The position of each of the SINGLE_FIELDS, or ``length`` if it has no
        # name.
        self.positions: list[int] = []
        for field in SINGLE_FIELDS:
            candidates = (found[name] for name in accepted[field] if name in found)
            self.positions.append(next(candidates, self.length))
        self.tags = self.other_positions("tags", found)
        self.notes = self.other_positions("note", found)
        mapped = {*self.positions, *self.tags, *self.notes}
        # The positions and names of the values to report as left out.
        self.unmapped = [
            (position, name.strip())
            for position, name in enumerate(names)
            if position not in mapped and normalized(name) not in IDENTIFIERS
        ]

    def other_positions(self, field: str, found: Mapping[str, int]) -> list[int]:
        """Return the positions of the names of a field, in the order of NAMES,
        that are not those of SINGLE_FIELDS.
        """
        positions = [found[name] for name in NAMES[field] if name in found]
        return [each for each in positions if each not in self.positions]

    def tags_of(self, value: Any) -> list[str]:
        """Return the tags in a value."""
        if isinstance(value, str):
            value = value.split() if self.is_of_pinboard else split_tags(value)
        return texts(value)

    def collect(
        self,
        positions: list[int],
        values: list[Any],
        read: Callable[[Any], list[str]],
        left_out: dict[str, None],
    ) -> list[str]:
        """Return what ``read`` returns for the values at these positions.

        If that is nothing, and the value means something, add its name to
        ``left_out``.
        """
        found = []
        for position in positions:
            texts_of_value = read(values[position])
            if not texts_of_value and means_something(values[position]):
                left_out[self.names[position]] = None
            found += texts_of_value
        return found

    def record(self, line: int, values: list[Any]) -> FileRecord:
        """Return the record of these values, one for each of the names."""
        # The last value is at the position of fields that have no name.
        values = [*values, None]
        fields = [values[position] for position in self.positions]
        url, title, collection, created_at = fields
        # A dict, so that each name is there only once.
        left_out: dict[str, None] = dict.fromkeys(
            name
            for position, name in self.unmapped
            if means_something(values[position], name)
        )
        if title is not None and not isinstance(title, str):
            title = as_text("title", title, left_out)
        if collection is not None and not isinstance(collection, str):
            collection = as_text("collection", collection, left_out)
        tags = self.collect(self.tags, values, self.tags_of, left_out)
        note = "\n\n".join(self.collect(self.notes, values, texts, left_out))
        if url:
            if isinstance(url, str):
                url = url.strip()
                # Remove line breaks and tabs, as browsers do.
                if not url.isprintable():
                    url = LINE_BREAKS.sub("", url)
            names = tuple(left_out)
            return Record(
                line, url, title, collection, created_at, names, tuple(tags), note
            )
        if collection and not (title or created_at or left_out or tags or note):
            return CollectionRecord(line, collection)
        return InvalidRecord(line, self.no_url, title or None)


class ObjectReader:
    """Converts the objects of one file to records.

    They may be JSON objects, or the attributes of links.
    """

    def __init__(self) -> None:
        # Most objects of a file have the same keys.
        self.field_map = lru_cache(maxsize=100)(FieldMap)

    def record(self, line: int, values: Mapping[str, Any]) -> FileRecord:
        nested = values.get(NESTED)
        if isinstance(nested, dict):
            nested = {f"{NESTED}.{name}": value for name, value in nested.items()}
            values = {**values, NESTED: None, **nested}
        if ANNOTATIONS in values:
            values = {**values, **note_of_firefox(values[ANNOTATIONS])}
        return self.field_map(tuple(values)).record(line, list(values.values()))
