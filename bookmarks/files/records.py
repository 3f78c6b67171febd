"""The records that the readers of all formats yield, and how values in files become their fields.

This includes other programs' names of values and folders, their forms of dates, and the names of collections.
"""

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache, reduce
from hashlib import sha256
from typing import Any, NamedTuple

from django.utils.translation import gettext as _

from bookmarks.models import MAX_COLLECTION_NAME_LENGTH, Bookmark, Collection


class Record(NamedTuple):
    """A bookmark as a file describes it. The values are not validated and may have any type."""

    line: int
    """The number of the line on which the record begins, or the number of the bookmark in a JSON file."""
    url: Any = ""
    title: Any = ""
    collection: Any = None
    """The collection's name, or None."""
    created_at: Any = None
    """A value that ``parse_date`` converts; None or an empty string means now."""
    left_out: tuple[str, ...] = ()
    """The names of values that the file has for the bookmark and that are not imported, such as its tags."""


class CollectionRecord(NamedTuple):
    """A collection that the file names without any bookmark."""

    line: int  # as in Record.line; for an empty folder in a JSON file, the number of bookmarks before it
    collection: Any


FIELDS = Record._fields[1:-1]
"""The keys of a JSON object and the columns of a CSV file in an export."""

EMPTY_TEXTS = {"", "0", "false", "no", "[]"}
"""Texts that mean that a bookmark does not have a property, in lower case. The longest is "false"."""


def means_something(value: Any) -> bool:
    """Return whether a value should be reported if it is left out, because it is not empty."""
    return bool(value) and not (isinstance(value, str) and len(value) <= len("false") and value.lower() in EMPTY_TEXTS)


class InvalidRecord(NamedTuple):
    """A record that cannot be read or stored."""

    line: int
    """The place in the file, as in ``Record.line``."""
    reason: str
    title: Any = None


FileRecord = Record | CollectionRecord | InvalidRecord


def to_dict(item: Bookmark | Collection) -> dict[str, str | None]:
    """Return the FIELDS of a bookmark as text for an export, or only the name of an empty collection."""
    if isinstance(item, Collection):
        return {"collection": item.name}
    collection = item.collection.name if item.collection else None
    time = item.created_at.isoformat().replace("+00:00", "Z")
    return {"url": item.url, "title": item.title, "collection": collection, "created_at": time}


# Names of values

NAMES = {
    "url": ("url", "uri", "href", "link", "content.url"),
    "title": ("title", "name"),
    "collection": ("collection", "folder"),
    "created_at": (
        "created_at", "created", "createdat", "add_date", "time_added", "timestamp", "time", "date_added", "dateadded",
        "savedat",
    ),
}  # fmt: skip
"""The names of columns in CSV, keys in JSON and attributes in HTML for each field, in lower case.

If a record has several names for a field, the first one here counts. ``content.url`` is ``url`` in the object NESTED.
"""

PINBOARD_TITLE = "description"
"""Another name for the title if the URL is named ``href``, as in the JSON files of Pinboard."""

IDENTIFIERS = {
    "_id", "content.type", "guid", "hash", "hashed_given_url", "hashed_url", "id", "index", "meta", "root", "slug",
    "type", "typecode", "uid",
}  # fmt: skip
"""Names of values that have no meaning outside the program that wrote them, and are not reported as left out."""

NESTED = "content"
"""The key under which Karakeep has an object with the URL."""


class FieldMap:
    """Maps the columns of a row, or the keys of an object, to the fields of a record, by their positions."""

    def __init__(self, names: Sequence[str]) -> None:
        # Reversed, so that the first of several equal names counts.
        positions = {name.strip().casefold(): position for position, name in reversed(list(enumerate(names)))}
        accepted = dict(NAMES)
        if "href" in positions and "url" not in positions:
            accepted["title"] += (PINBOARD_TITLE,)
        self.length = len(names)
        self.positions = [
            next((positions[name] for name in accepted[field] if name in positions), self.length) for field in FIELDS
        ]
        self.unmapped = [
            (position, name.strip())
            for position, name in enumerate(names)
            if position not in self.positions and name.strip().casefold() not in IDENTIFIERS
        ]

    def record(self, line: int, values: list[Any]) -> FileRecord:
        """Return the record of these values, one for each of the names."""
        values = [*values, None]  # at the position ``length``, for fields that have no name
        url, *others = [values[position] for position in self.positions]
        left_out = tuple(dict.fromkeys(name for position, name in self.unmapped if means_something(values[position])))
        if url:
            return Record._make((line, url.strip() if isinstance(url, str) else url, *others, left_out))
        present = {field: value for field, value in zip(FIELDS[1:], others, strict=True) if value}
        if present.keys() == {"collection"} and not left_out:
            return CollectionRecord(line, present["collection"])
        return InvalidRecord(line, _("The entry has no URL."), present.get("title"))


class ObjectReader:
    """Converts the objects of one file to records. They may be JSON objects, or the attributes of links."""

    def __init__(self) -> None:
        self.field_map = lru_cache(maxsize=100)(FieldMap)  # Most objects of a file have the same keys.

    def record(self, line: int, values: Mapping[str, Any]) -> FileRecord:
        if isinstance(nested := values.get(NESTED), dict):
            values = {**values, NESTED: None, **{f"{NESTED}.{name}": value for name, value in nested.items()}}
        return self.field_map(tuple(values)).record(line, list(values.values()))


# Folders

LIST_KEYS = frozenset(
    {"bookmarks", "children", "collections", "data", "entries", "folders", "items", "links", "results", "roots"}
)
"""Keys of arrays in JSON in which everything should be a bookmark or a folder."""

NOT_BOOKMARKS = frozenset({"annotations", "media", "pinnedLinks", "rssSubscriptions"})
"""Keys under which objects with URLs are not bookmarks: of wallabag, Raindrop and, the last two, Linkwarden."""

NEEDED_KEYS = LIST_KEYS.union({PINBOARD_TITLE, NESTED, "guid", "root", "type"}, *NAMES.values())
"""Keys in JSON whose values the reader needs, in lower case."""

FOLDER_TYPES = ("folder", "text/x-moz-place-container")  # values of ``type`` in JSON; those with "moz" are Firefox's
SEPARATOR_TYPE = "text/x-moz-place-separator"

TAGS_FOLDER = "tags________"
"""The ``guid`` of the folder in which Firefox repeats the bookmarks of each tag."""

ROOTS = {
    "root________": "", "menu________": "", "toolbar_____": "Bookmarks Toolbar", "unfiled_____": "Other Bookmarks",
    "mobile______": "Mobile Bookmarks", TAGS_FOLDER: "", "other": "", "synced": "",
}  # fmt: skip
"""The names of the folders that a browser has from the start, as in the HTML files that it exports.

Firefox identifies them by ``guid``, and Chrome by their keys in ``roots``. The name is empty if the folder's bookmarks
are at the top level of the HTML files.
"""


def folder_name(values: Mapping[str, Any]) -> str | None:
    """Return the name of the folder that has these values in JSON, or None if the name is not among them."""
    for key in ("guid", "root"):
        if (root := ROOTS.get(str(values.get(key)))) is not None:
            return root
    names = (values[key] for key in ("title", "name") if key in values)
    return next((str(name or "") for name in names if name is not True), None)  # True stands for an array or object.


# Dates

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
EARLIEST = 10**8  # seconds since 1970, in March 1973
WEBKIT_EPOCH = datetime(1601, 1, 1, tzinfo=UTC)  # the start of Chrome's dates


def parse_date(value: Any) -> datetime | None:
    """Convert a value of a file to a time in UTC, or return None if it is invalid or in the future.

    The value is text as in ISO 8601, also with slashes in the date or UTC at the end, or the number of seconds,
    milliseconds or microseconds since 1970 as a number or as text. Chrome's own files count microseconds since 1601. A
    time without an offset is in UTC. Numbers below EARLIEST are invalid: 0 means that there is no date, and other
    small numbers are mistakes.
    """
    try:
        time = _from_text(value) if isinstance(value, str) else _from_number(value)
        time = time.astimezone(UTC) if time.tzinfo else time.replace(tzinfo=UTC)
    except (TypeError, ValueError, OverflowError):
        return None
    return time if time <= datetime.now(UTC) else None


def _from_text(text: str) -> datetime:
    text = text.strip()
    if text.isdecimal():  # first, because fromisoformat() reads some numbers as dates without hyphens
        return _from_number(int(text))
    try:
        return datetime.fromisoformat(text.removesuffix(" UTC").replace("/", "-"))
    except ValueError:
        return _from_number(float(text))


def _from_number(number: float) -> datetime:
    """Convert a number, whose size determines its unit. Raises ValueError if it is too small."""
    if not number >= EARLIEST:  # also true for NaN
        raise ValueError
    if number < 10**11:
        return datetime.fromtimestamp(number, UTC)
    if number < 10**14:
        return EPOCH + timedelta(milliseconds=number)
    return (EPOCH if number < 10**16 else WEBKIT_EPOCH) + timedelta(microseconds=number)


# The names of the collections that folders become

SEPARATOR = " / "
SLASHES = re.compile(r"(?:^|(?<= ))/+(?= |$)")
"""Matches slashes in the name of a folder that could be mistaken for a separator."""

MAX_PATH_LENGTH = 1000  # characters
DIGEST_LENGTH = 8  # hexadecimal digits


def join_path(path: str, folder: str) -> str:
    """Return the path of ``folder`` inside the folder with this ``path``, which is empty for the top level.

    A path is the name of a collection. Different folders have different paths: a slash is added to slashes between
    spaces or ends of the name, so that the folder ``A / B`` has the path ``A // B``, and ``B`` in ``A`` has ``A / B``.
    The path is shortened to 1,000 characters, so that deeply nested folders take little memory.
    """
    folder = SLASHES.sub(r"\g<0>/", folder)
    return shortened(path + SEPARATOR + folder if path else folder, MAX_PATH_LENGTH)


def split_path(path: str) -> list[str] | None:
    """Return the names of the folders from which ``join_path`` makes this path, outermost first, or None."""
    folders = [SLASHES.sub(lambda match: match[0][1:], part) for part in path.split(SEPARATOR)]
    return folders if all(folders) and reduce(join_path, folders, "") == path else None


def shortened(name: str, length: int = MAX_COLLECTION_NAME_LENGTH) -> str:
    """Return the name, or its beginning and a digest of the whole if it has more than ``length`` characters."""
    if len(name) <= length:
        return name
    digest = sha256(name.encode(errors="surrogatepass")).hexdigest()[:DIGEST_LENGTH]
    return f"{name[: length - DIGEST_LENGTH - 1]}~{digest}"
