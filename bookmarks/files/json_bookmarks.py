"""Bookmarks as JSON, which other programs export: an object with a URL is a bookmark, wherever it is.

The objects around it that have a name are its folders. Records have the ordinal numbers of the bookmarks, because the
lines of such a file mean nothing.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

import ijson
from django.utils.translation import gettext as _

from . import programs
from .encodings import Utf8Text
from .programs import LISTS, NOT_BOOKMARKS, TAGS, folder_name
from .records import CollectionRecord, FileRecord, InvalidRecord, Record, UnreadableFile, means_something
from .report import MAX_NAME_LENGTH, OTHER_NAMES

CHUNK_SIZE = 64 * 1024  # characters
MAX_DEPTH = 2000  # arrays and objects
MAX_TEXT = 100_001  # characters of a value that are kept; more than any value of a bookmark may have
MAX_KEYS = 100  # of an object; of further ones, only those with a meaning are kept

MAX_WAITING = 128 * 1024 * 1024  # bytes of records that wait for the name of a folder, about twice those of the file
RECORD_SIZE = 400  # bytes that a record takes besides its text, with its share of a folder


@dataclass(slots=True)
class Level:
    """An array or object that is being read, or one around a record that waits for the name of its folder."""

    around: "Level | None"
    key: str = ""
    """Its key, or that of the array around it."""
    values: dict[str, Any] | None = None
    """The values of an object. None for an array."""
    is_list: bool = False
    """Whether it is an array, or in one, in which everything should be a bookmark or a folder."""
    is_skipped: bool = False
    """Whether nothing in it is a bookmark."""
    found: int = 0
    """The number of records before it."""
    has_parts: bool = False
    unread: frozenset[str] = frozenset()
    """The keys of arrays and objects in which nothing was found."""
    name: str | None = ""
    """The name of the folder, or an empty string. None while a record in it may need the name."""
    path: str | None = None
    """The name of the collection for what it contains, once it has been needed."""

    @property
    def is_element(self) -> bool:
        return self.around is not None and self.around.values is None and self.around.around is not None

    def place(self, record: FileRecord) -> FileRecord:
        """Return a record in it with the name of the collection. All levels around it must have names."""
        levels, level = [], self
        while level.path is None and level.around:
            levels.append(level)
            level = level.around
        path = level.path or ""
        for level in reversed(levels):
            inner = programs.within(path, level.name) if level.name else path
            level.path = path = TAGS if TAGS in (path, level.name) else inner
        if isinstance(record, InvalidRecord) or not path:
            return record
        if path == TAGS:
            return InvalidRecord(record.line, _("This is a tag of a bookmark. Tags are not imported."))
        return record._replace(collection=path)


class JsonWalk:
    """Collects the records of a file. The levels are linked, so that they need no recursion."""

    def __init__(self) -> None:
        self.objects = programs.ObjectReader()
        self.level = Level(None, is_list=True)
        self.depth = 0
        self.key = ""
        """The last key, or its beginning."""
        self.number = 0
        """The number of bookmarks so far."""
        self.found = 0
        """The number of records so far."""
        self.records: list[tuple[FileRecord, Level]] = []
        """The records with the levels around them."""
        self.nameless = 0
        """The number of levels whose name is None, so that the records wait."""
        self.waiting = 0
        """About how many bytes the records take while they wait."""
        self.not_an_object = _("The entry is not a JSON object.")  # translating takes a while

    def take(self) -> Iterator[FileRecord]:
        """Yield the records, unless they wait."""
        if not self.nameless:
            for record, around in self.records:
                yield around.place(record)
            self.records.clear()
            self.waiting = 0

    def start(self, is_object: bool) -> None:
        """Begin an array or object."""
        if self.depth == MAX_DEPTH:
            raise ijson.JSONError(_("it is nested deeper than %(levels)s levels") % {"levels": MAX_DEPTH})
        around = self.level
        key, is_list = (around.key, around.is_list) if around.values is None else (self.key, self.key in LISTS)
        if around.values is not None and around.name == "" and (around.is_element or key == "children"):
            around.name, around.path = folder_name(around.values), None
            self.nameless += around.name is None
        is_skipped = around.is_skipped or key in NOT_BOOKMARKS
        around.has_parts = True
        values = ({"root": key} if around.key == "roots" else {}) if is_object else None
        self.level = Level(around, key, values, is_list, is_skipped, self.found)
        self.depth += 1

    def end(self) -> None:
        """End the array or object."""
        level, values = self.level, self.level.values
        around = self.level = level.around or level
        self.depth -= 1
        if level.name is None:
            self.set_name(level, folder_name(values or {}) or "")
        is_content = around.values is not None and level.key == programs.NESTED
        is_read = False
        if values is not None and not level.is_skipped and not is_content:
            is_read = self.end_object(level, values)
        if around.values is not None:
            is_left_out = level.has_parts and self.found == level.found
            self.keep(around, around.values, level.key, is_left_out)
            if is_content and values:
                around.values[programs.NESTED] = values
            if is_left_out and not is_read:
                around.unread |= {level.key if len(around.unread) < MAX_KEYS else OTHER_NAMES}
        level.values = None

    def end_object(self, level: Level, values: dict[str, Any]) -> bool:
        """Add the record of an object that has ended. Return whether it is a bookmark or a folder."""
        record = self.objects.record(self.number + 1, values)
        if isinstance(record, Record) and record.url:
            self.add(record)
            return True
        is_empty, name, has_list = self.found == level.found, folder_name(values), not LISTS.isdisjoint(values)
        is_folder = "children" in values or values.get("type") in programs.FOLDER_TYPES
        is_folder = is_folder or (level.is_element and bool(name) and (has_list or not is_empty))
        if is_folder and is_empty and name and "root" not in values:
            level.name, level.path = name, None
            self.add(CollectionRecord(self.number, None), level)
        is_entry = level.is_list and (level.is_element or (self.depth == 0 and not level.unread))
        is_nothing = has_list or is_folder or values.get("type") == programs.SEPARATOR_TYPE
        if is_entry and is_empty and not is_nothing:
            self.add(record)
        if self.depth == 0 or not is_empty:
            for key in sorted(level.unread & NOT_BOOKMARKS if is_folder else level.unread):
                self.refuse(_("The key %(key)s is not imported.") % {"key": key[:MAX_NAME_LENGTH]})
        return is_folder

    def scalar(self, value: Any) -> None:
        level = self.level
        level.has_parts = True
        if level.values is not None:
            self.keep(level, level.values, self.key, value)
        elif level.is_list and not level.is_skipped:
            self.refuse(self.not_an_object)

    def keep(self, level: Level, values: dict[str, Any], key: str, value: Any) -> None:
        """Keep a value of an object as far as it is needed."""
        if key.casefold() not in programs.KEYS:
            values[key if len(values) < MAX_KEYS else OTHER_NAMES] = means_something(value)
            return
        values[key] = value[:MAX_TEXT] if isinstance(value, str) else value
        if level.name is None and (name := folder_name(values)) is not None:
            self.set_name(level, name)

    def refuse(self, reason: str) -> None:
        self.add(InvalidRecord(self.number + 1, reason))

    def add(self, record: FileRecord, around: Level | None = None) -> None:
        """Add a record that is in this level, or else in the one that is being read."""
        self.found += 1
        self.number = record.line
        self.records.append((record, around or self.level))
        if self.nameless:
            self.waiting += RECORD_SIZE + sum(len(value) for value in record if isinstance(value, str))
            if self.waiting > MAX_WAITING:
                self.name_all()
                self.refuse(_("The names of the folders around this come too late. It is imported without them."))

    def set_name(self, level: Level, name: str) -> None:
        level.name = name
        self.nameless -= 1

    def name_all(self) -> None:
        """Stop waiting for names. Folders without one are part of those around them."""
        level: Level | None = self.level
        while level:
            if level.name is None:
                self.set_name(level, "")
            level = level.around


def read(file: BinaryIO, encoding: str | None = None) -> Iterator[FileRecord]:
    """Yield a record for each bookmark. Raises UnreadableFile after the last one if the file is invalid.

    Records wait in memory for the names of the folders around them, which usually come before.
    """
    walk, reason = JsonWalk(), None
    try:
        # Usually, there is one value in the file.
        events = ijson.basic_parse(Utf8Text(file, encoding), buf_size=CHUNK_SIZE, use_float=True, multiple_values=True)
        for event, value in events:
            if event == "map_key":
                walk.key = value[: MAX_NAME_LENGTH + 1]
            elif value is not None or event == "null":
                walk.scalar(value)
            elif event.startswith("start_"):
                walk.start(event == "start_map")
            else:
                walk.end()
            if walk.records:
                yield from walk.take()
    except (UnicodeDecodeError, ijson.JSONError) as error:
        reason = describe(error)
    walk.name_all()
    yield from walk.take()
    if reason and (walk.depth or walk.number or "EOF" not in reason):
        text = _("The file cannot be read after %(number)s bookmarks, because it is not valid JSON: %(reason)s.")
        raise UnreadableFile(text % {"number": walk.number, "reason": reason})


def describe(error: Exception) -> str:
    """Return what an exception says. The second line of one of yajl is the text around the place."""
    text = error.args[0] if isinstance(error, ijson.JSONError) else str(error)
    message, _, place = (text.decode(errors="replace") if isinstance(text, bytes) else text).partition("\n")
    place = place.partition("\n")[0].strip()
    return f"{message.rstrip('.')}, near {place}" if place else message.rstrip(".")
