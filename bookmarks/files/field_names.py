"""Recognize the fields of a bookmark by their names in the files of programs.

The names are those of columns in CSV, of keys in JSON, and of attributes in
HTML. Here they are all as ``normalized`` returns them.
"""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from django.utils.translation import gettext as _

from .records import FIELDS, CollectionRecord, FileRecord, InvalidRecord, Record

# The key under which Karakeep has an object with the URL. The names of its
# values begin with "content." here.
NESTED = "content"

# The names of each field. If a record has several of them, the first one here
# counts.
NAMES = {
    "url": ("url", "uri", "href", "link", "content.url"),
    "title": ("title", "name"),
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
    ),
}

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


class FieldMap:
    """Maps the columns of a row, or the keys of an object, to FIELDS."""

    def __init__(self, names: Sequence[str]) -> None:
        self.length = len(names)
        # translated once to save time
        self.no_url = _("The entry has no URL.")
        # The position of each name. Of several equal names, the first counts.
        found: dict[str, int] = {}
        for position, name in enumerate(names):
            found.setdefault(normalized(name), position)
        accepted = dict(NAMES)
        if "href" in found and "url" not in found:
            accepted["title"] += (PINBOARD_TITLE,)
        # The position of each of the FIELDS, or ``length`` if it has no name.
        self.positions: list[int] = []
        for field in FIELDS:
            candidates = (found[name] for name in accepted[field] if name in found)
            self.positions.append(next(candidates, self.length))
        # The positions and names of the values to report as left out.
        self.unmapped = [
            (position, name.strip())
            for position, name in enumerate(names)
            if position not in self.positions and normalized(name) not in IDENTIFIERS
        ]

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
        if url:
            if isinstance(url, str):
                url = url.strip()
                # Remove line breaks and tabs, as browsers do.
                if not url.isprintable():
                    url = LINE_BREAKS.sub("", url)
            return Record(line, url, title, collection, created_at, tuple(left_out))
        if collection and not (title or created_at or left_out):
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
        return self.field_map(tuple(values)).record(line, list(values.values()))
