"""Bookmarks as JSON, which other programs export: an object with a URL is a bookmark, except under NOT_BOOKMARKS.

The objects around it that have a name, and are in an array or have the key ``children``, are its folders. The ``line``
of a record is the number of the bookmark, because line numbers are of no use in such a file.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any, BinaryIO

import ijson
from django.utils.translation import gettext as _

from usergroups.contract.requests import CHUNK_SIZE

from . import records
from .content import UnreadableFile, open_text
from .records import LIST_KEYS, CollectionRecord, FileRecord, InvalidRecord, Record

MAX_DEPTH = 500  # arrays and objects, so that Container.collection may be recursive
MAX_KEYS = 100  # of an object; further ones are kept only if they are among records.NEEDED_KEYS


@dataclass(slots=True, eq=False)
class Container:
    """An array or object that is being read, or that contains a record."""

    parent: Any = None
    """The container that it is in, or None for the file."""
    key: str = ""
    """Its key in an object, or the key of the array that it is in."""
    is_object: bool = False
    is_skipped: bool = False
    """Whether nothing in it is a bookmark."""
    records_before: int = 0
    values: dict[str, Any] = field(default_factory=dict)
    """The values of an object by key. Those of an array only show that it is not empty."""
    path: str | None = None
    """The cached value of ``collection``, or None."""

    def keep(self, key: str, value: Any) -> None:
        """Keep a value if it is needed, or otherwise only whether it is worth reporting."""
        if key.casefold() in records.NEEDED_KEYS:
            self.values[key] = value
        elif len(self.values) < MAX_KEYS:
            self.values[key] = records.means_something(value)

    @property
    def folder_name(self) -> str | None:
        """The name of this folder, an empty string if it is no folder, or None if the name has not been read yet."""
        if not self.is_object:
            return ""
        is_element = self.parent.parent and not self.parent.is_object  # in an array, not directly in the file
        return records.folder_name(self.values) if is_element or "children" in self.values else ""

    @property
    def collection(self) -> str:
        """The name of the collection for what it contains."""
        if self.path is None:
            path, name = self.parent.collection, self.folder_name
            self.path = records.join_path(path, name) if name else path
        return self.path


class JsonWalk:
    """Collects the records of a file from the events of its parser."""

    def __init__(self) -> None:
        self.objects = records.ObjectReader()
        self.container = Container(path="")
        self.depth = 0
        self.key = ""
        """The last key."""
        self.number = 0
        """The number of bookmarks so far, including refused entries."""
        self.record_count = 0
        """The number of records so far."""
        self.records: list[tuple[Any, Container]] = []
        """The records that have not been taken, with the containers that they are in."""
        self.nameless: Container | None = None
        """The outermost object whose name has not been read. It may be a folder, so the records wait until it ends."""

    def take(self) -> Iterator[FileRecord]:
        """Yield the records, unless they wait for the name of a folder."""
        if self.nameless is None:
            for record, container in self.records:
                collection = None if isinstance(record, InvalidRecord) else container.collection
                yield record._replace(collection=collection) if collection else record
            self.records.clear()

    def start(self, is_object: bool) -> None:
        """Begin an array or object."""
        if self.depth == MAX_DEPTH:
            raise ijson.JSONError(_("it is nested deeper than %(levels)s levels") % {"levels": MAX_DEPTH})
        parent = self.container
        key = self.key if parent.is_object else parent.key
        if key == "children":
            parent.values[key] = False  # shows that it is a folder
        if self.nameless is None and parent.folder_name is None:
            self.nameless = parent
        is_tags_folder = parent.values.get("guid") == records.TAGS_FOLDER
        is_skipped = parent.is_skipped or key in records.NOT_BOOKMARKS or is_tags_folder
        self.container = Container(parent, key, is_object, is_skipped, self.record_count)
        if is_object and parent.key == "roots":
            self.container.values["root"] = key  # the key by which folder_name() knows a folder of Chrome
        self.depth += 1

    def end(self) -> None:
        """End the array or object."""
        container, parent = self.container, self.container.parent
        self.container = parent
        self.depth -= 1
        is_content = container.is_object and parent.is_object and container.key == records.NESTED
        if container.is_object and not container.is_skipped and not is_content:
            self.end_object(container)
        # A bookmark reports what it contains as left out, except empty containers and those that have records.
        is_left_out = bool(container.values) and self.record_count == container.records_before
        parent.keep(container.key, container.values if is_content else is_left_out)
        if container is self.nameless:
            self.nameless = None

    def end_object(self, container: Container) -> None:
        """Add the record of an object that has ended, if it is a bookmark, an empty folder or an entry without URL."""
        values, is_empty = container.values, self.record_count == container.records_before
        record = self.objects.record(self.number + 1, values)
        # Whether it is in a list of bookmarks and folders, or is the whole file.
        is_entry = not container.parent.is_object and (not container.key or container.key in LIST_KEYS)
        is_folder = values.get("type") in records.FOLDER_TYPES or not LIST_KEYS.isdisjoint(values)
        if isinstance(record, Record):
            self.add(record, container.parent)
        elif is_empty and is_folder:
            if container.folder_name and "root" not in values:  # not a folder that browsers have from the start
                self.add(CollectionRecord(self.number, None), container)  # take() adds the name.
        elif is_empty and is_entry and values.get("type") != records.SEPARATOR_TYPE:
            self.add(record, container.parent)

    def add(self, record: FileRecord, container: Container) -> None:
        self.record_count += 1
        self.number = record.line
        self.records.append((record, container))


def read(file: BinaryIO, encoding: str | None = None) -> Iterator[FileRecord]:
    """Yield a record for each bookmark. Raises UnreadableFile after the last one if the file is invalid.

    Records wait in memory for the names of their folders, which usually come before them.
    """
    walk, reason = JsonWalk(), None
    text = open_text(file, encoding)
    # Bytes that cannot be decoded become bytes that are not UTF-8, at which ijson raises an error.
    chunks = (chunk.encode(errors="surrogateescape") for chunk in iter(partial(text.read, CHUNK_SIZE), ""))
    try:
        # Usually a file has one value, but several may follow one another.
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
    """Return the message of the error. If it is from yajl, ijson's parser in C, its second line is the invalid text."""
    text = error.args[0]
    message, _, place = (text.decode(errors="replace") if isinstance(text, bytes) else text).partition("\n")
    place = place.partition("\n")[0].strip()
    return f"{message.rstrip('.')}, near {place}" if place else message.rstrip(".")
