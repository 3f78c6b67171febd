"""Bookmarks as JSON, which other programs export: an object with a URL is a bookmark, wherever it is.

The objects around it that have a name are its folders. Records have the ordinal numbers of the bookmarks, because the
lines of such a file mean nothing.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any, BinaryIO

import ijson
from django.utils.translation import gettext as _

from usergroups.contract.requests import CHUNK_SIZE

from . import records
from .content import UnreadableFile
from .encodings import open_text
from .records import LISTS, CollectionRecord, FileRecord, InvalidRecord, Record

MAX_DEPTH = 500  # arrays and objects, so that Container.collection may be recursive
MAX_KEYS = 100  # of an object; of further ones, only those with a meaning are kept


@dataclass(slots=True, eq=False)
class Container:
    """An array or object that is being read, or that is around a record."""

    around: Any = None
    """The container that it is in, or None for the file."""
    key: str = ""
    """Its key, or that of the array around it."""
    is_object: bool = False
    is_skipped: bool = False
    """Whether nothing in it is a bookmark."""
    found: int = 0
    """The number of records before it."""
    values: dict[str, Any] = field(default_factory=dict)
    """The values of an object that are needed. Those of an array only show that it is not empty."""
    path: str | None = None
    """The name of the collection for what it contains, once it has been needed."""

    def keep(self, key: str, value: Any) -> None:
        if key.casefold() in records.KEYS:
            self.values[key] = value
        elif len(self.values) < MAX_KEYS:
            self.values[key] = records.means_something(value)

    @property
    def folder_name(self) -> str | None:
        """The name of the folder that it is, an empty string if it is none, or None if the name has not been read."""
        if not self.is_object:
            return ""
        is_element = self.around.around and not self.around.is_object
        return records.folder_name(self.values) if is_element or "children" in self.values else ""

    @property
    def collection(self) -> str:
        """The name of the collection for what it contains."""
        if self.path is None:
            path, name = self.around.collection, self.folder_name
            self.path = records.within(path, name) if name else path
        return self.path


class JsonWalk:
    """Collects the records of a file."""

    def __init__(self) -> None:
        self.objects = records.ObjectReader()
        self.container = Container(path="")
        self.depth = 0
        self.key = ""
        """The last key."""
        self.number = 0
        """The number of bookmarks so far."""
        self.found = 0
        """The number of records so far."""
        self.records: list[tuple[Any, Container]] = []
        """The records with the containers around them."""
        self.nameless: Container | None = None
        """The outermost object whose name has not been read, perhaps a folder. Until it ends, the records wait."""

    def take(self) -> Iterator[FileRecord]:
        """Yield the records, unless they wait."""
        if self.nameless is None:
            for record, around in self.records:
                collection = None if isinstance(record, InvalidRecord) else around.collection
                yield record._replace(collection=collection) if collection else record
            self.records.clear()

    def start(self, is_object: bool) -> None:
        """Begin an array or object."""
        if self.depth == MAX_DEPTH:
            raise ijson.JSONError(_("it is nested deeper than %(levels)s levels") % {"levels": MAX_DEPTH})
        around = self.container
        key = self.key if around.is_object else around.key
        if key == "children":
            around.values[key] = False  # shows that it is a folder
        if self.nameless is None and around.folder_name is None:
            self.nameless = around
        is_skipped = around.is_skipped or key in records.NOT_BOOKMARKS or around.values.get("guid") == records.TAGS
        self.container = Container(around, key, is_object, is_skipped, self.found)
        if is_object and around.key == "roots":
            self.container.values["root"] = key
        self.depth += 1

    def end(self) -> None:
        """End the array or object."""
        container, around = self.container, self.container.around
        self.container = around
        self.depth -= 1
        is_content = container.is_object and around.is_object and container.key == records.NESTED
        if container.is_object and not container.is_skipped and not is_content:
            self.end_object(container)
        is_left_out = bool(container.values) and self.found == container.found  # reported if it is in a bookmark
        around.keep(container.key, container.values if is_content else is_left_out)
        if container is self.nameless:
            self.nameless = None

    def end_object(self, container: Container) -> None:
        """Add the record of an object that has ended, if it is a bookmark, an empty folder or an entry without URL."""
        values, is_empty = container.values, self.found == container.found
        record = self.objects.record(self.number + 1, values)
        # Whether it is in a list of bookmarks and folders, or is the whole file.
        is_entry = not container.around.is_object and (not container.key or container.key in LISTS)
        is_folder = values.get("type") in records.FOLDER_TYPES or not LISTS.isdisjoint(values)
        if isinstance(record, Record):
            self.add(record, container.around)
        elif is_empty and is_folder:
            if container.folder_name and "root" not in values:  # not a folder that browsers have from the start
                self.add(CollectionRecord(self.number, None), container)
        elif is_empty and is_entry and values.get("type") != records.SEPARATOR_TYPE:
            self.add(record, container.around)

    def add(self, record: FileRecord, around: Container) -> None:
        self.found += 1
        self.number = record.line
        self.records.append((record, around))


def read(file: BinaryIO, encoding: str | None = None) -> Iterator[FileRecord]:
    """Yield a record for each bookmark. Raises UnreadableFile after the last one if the file is invalid.

    Records wait in memory for the names of the folders around them, which usually come before.
    """
    walk, reason = JsonWalk(), None
    text = open_text(file, encoding)
    # Bytes that cannot be decoded become invalid ones, at which ijson ends.
    chunks = (chunk.encode(errors="surrogateescape") for chunk in iter(partial(text.read, CHUNK_SIZE), ""))
    try:
        # Usually, there is one value in the file.
        for event, value in ijson.basic_parse(ijson.from_iter(chunks), use_float=True, multiple_values=True):
            if event == "map_key":
                walk.key = value
            elif value is not None or event == "null":
                walk.container.keep(walk.key, value)
            elif event.startswith("start_"):
                walk.start(event == "start_map")
            else:
                walk.end()
            if walk.records:
                yield from walk.take()
    except ijson.JSONError as error:
        reason = describe(error)
    walk.nameless = None
    yield from walk.take()
    if reason:
        problem = _("The file cannot be read after %(number)s bookmarks, because it is not valid JSON: %(reason)s.")
        raise UnreadableFile(problem % {"number": walk.number, "reason": reason})


def describe(error: ijson.JSONError) -> str:
    """Return what the exception says. The second line of one of yajl is the text around the place."""
    text = error.args[0]
    message, _, place = (text.decode(errors="replace") if isinstance(text, bytes) else text).partition("\n")
    place = place.partition("\n")[0].strip()
    return f"{message.rstrip('.')}, near {place}" if place else message.rstrip(".")
