"""Bookmarks as JSON, which other programs export: an object with a URL is a bookmark, wherever it is.

The objects around it that have a name are its folders. Records have the ordinal numbers of the bookmarks, because the
lines of such a file mean nothing.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, BinaryIO

import ijson
from django.utils.translation import gettext as _

from usergroups.contract.requests import CHUNK_SIZE

from . import records
from .content import UnreadableFile
from .encodings import Utf8Text
from .records import LISTS, NOT_BOOKMARKS, TAGS, CollectionRecord, FileRecord, InvalidRecord, Record, folder_name
from .report import MAX_NAME_LENGTH, OTHER_NAMES

MAX_DEPTH = 2000  # arrays and objects
MAX_KEYS = 100  # of an object; of further ones, only those with a meaning are kept


@dataclass(slots=True, eq=False)
class Container:
    """An array or object that is being read, or that is around a record that waits for the name of its folder."""

    around: "Container | None"
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
    is_empty: bool = True
    unread: set[str] = field(default_factory=set)
    """The keys of arrays and objects in which nothing was found."""
    name: str | None = ""
    """The name of the folder, or an empty string. None while a record in it may need the name."""
    path: str | None = None
    """The name of the collection for what it contains, once it has been needed."""

    @property
    def is_element(self) -> bool:
        """Whether it is in an array that is not the whole file."""
        return self.around is not None and self.around.values is None and self.around.around is not None

    def add_collection(self, record: FileRecord) -> FileRecord:
        """Return a record in it with the name of its collection. All folders around it must have names."""
        containers, container = [], self
        while container.path is None and container.around:
            containers.append(container)
            container = container.around
        path = container.path or ""
        for container in reversed(containers):
            inner = records.within(path, container.name) if container.name else path
            container.path = path = TAGS if TAGS in (path, container.name) else inner
        if isinstance(record, InvalidRecord) or not path:
            return record
        if path == TAGS:
            return InvalidRecord(record.line, _("This is a tag of a bookmark. Tags are not imported."))
        return record._replace(collection=path)


class JsonWalk:
    """Collects the records of a file. The containers are linked, so that they need no recursion."""

    def __init__(self) -> None:
        self.objects = records.ObjectReader()
        self.container = Container(None, is_list=True)
        self.depth = 0
        self.key = ""
        """The last key."""
        self.number = 0
        """The number of bookmarks so far."""
        self.found = 0
        """The number of records so far."""
        self.records: list[tuple[FileRecord, Container]] = []
        """The records with the containers around them."""
        self.nameless: list[Container] = []
        """The containers whose name is None, so that the records wait."""
        self.not_an_object = _("The entry is not a JSON object.")  # translating takes a while

    def take(self) -> Iterator[FileRecord]:
        """Yield the records, unless they wait."""
        if not self.nameless:
            for record, around in self.records:
                yield around.add_collection(record)
            self.records.clear()

    def start(self, is_object: bool) -> None:
        """Begin an array or object."""
        if self.depth == MAX_DEPTH:
            raise ijson.JSONError(_("it is nested deeper than %(levels)s levels") % {"levels": MAX_DEPTH})
        around = self.container
        key, is_list = (around.key, around.is_list) if around.values is None else (self.key, self.key in LISTS)
        if around.values is not None and around.name == "" and (around.is_element or key == "children"):
            around.name, around.path = folder_name(around.values), None
            self.nameless += [around] if around.name is None else []
        is_skipped = around.is_skipped or key in NOT_BOOKMARKS
        around.is_empty = False
        values = ({"root": key} if around.key == "roots" else {}) if is_object else None
        self.container = Container(around, key, values, is_list, is_skipped, self.found)
        self.depth += 1

    def end(self) -> None:
        """End the array or object."""
        container, values = self.container, self.container.values
        around = self.container = container.around or container
        self.depth -= 1
        if container.name is None:
            self.set_name(container, folder_name(values or {}) or "")
        is_content = around.values is not None and container.key == records.NESTED
        is_read = False
        if values is not None and not container.is_skipped and not is_content:
            is_read = self.end_object(container, values)
        if around.values is not None:
            is_left_out = not container.is_empty and self.found == container.found
            self.keep(around, around.values, container.key, is_left_out)
            if is_content and values:
                around.values[records.NESTED] = values
            if is_left_out and not is_read:
                around.unread.add(container.key if len(around.unread) < MAX_KEYS else OTHER_NAMES)
        container.values = None

    def end_object(self, container: Container, values: dict[str, Any]) -> bool:
        """Add the record of an object that has ended. Return whether it is a bookmark or a folder."""
        record = self.objects.record(self.number + 1, values)
        if isinstance(record, Record) and record.url:
            self.add(record)
            return True
        is_empty, name, has_list = self.found == container.found, folder_name(values), not LISTS.isdisjoint(values)
        is_folder = "children" in values or values.get("type") in records.FOLDER_TYPES
        is_folder = is_folder or (container.is_element and bool(name) and (has_list or not is_empty))
        if is_folder and is_empty and name and "root" not in values:
            container.name, container.path = name, None
            self.add(CollectionRecord(self.number, None), container)
        is_entry = container.is_list and (container.is_element or (self.depth == 0 and not container.unread))
        is_nothing = has_list or is_folder or values.get("type") == records.SEPARATOR_TYPE
        if is_entry and is_empty and not is_nothing:
            self.add(record)
        if self.depth == 0 or not is_empty:
            for key in sorted(container.unread & NOT_BOOKMARKS if is_folder else container.unread):
                self.refuse(_("The key %(key)s is not imported.") % {"key": key[:MAX_NAME_LENGTH]})
        return is_folder

    def scalar(self, value: Any) -> None:
        container = self.container
        container.is_empty = False
        if container.values is not None:
            self.keep(container, container.values, self.key, value)
        elif container.is_list and not container.is_skipped:
            self.refuse(self.not_an_object)

    def keep(self, container: Container, values: dict[str, Any], key: str, value: Any) -> None:
        """Keep a value of an object as far as it is needed."""
        if key.casefold() not in records.KEYS:
            values[key if len(values) < MAX_KEYS else OTHER_NAMES] = records.means_something(value)
            return
        values[key] = value
        if container.name is None and (name := folder_name(values)) is not None:
            self.set_name(container, name)

    def refuse(self, reason: str) -> None:
        self.add(InvalidRecord(self.number + 1, reason))

    def add(self, record: FileRecord, around: Container | None = None) -> None:
        """Add a record that is in this container, or else in the one that is being read."""
        self.found += 1
        self.number = record.line
        self.records.append((record, around or self.container))

    def set_name(self, container: Container, name: str) -> None:
        container.name = name
        self.nameless.remove(container)


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
                walk.key = value
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
    while walk.nameless:
        walk.set_name(walk.nameless[-1], "")  # Folders without a name are part of those around them.
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
