"""Bookmarks as JSON, which other programs export.

An object with a URL is a bookmark, except under NOT_BOOKMARKS. An object
around it is its folder if it has a name, and if it is in an array or has the
key "children".

The ``line`` of a record is the number of the bookmark, because line numbers
are of no use in such a file.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, BinaryIO

import ijson
from django.utils.translation import gettext as _

from .collection_names import join_path
from .decoding import open_text, read_chunks
from .decompression import UnreadableFile
from .field_names import ObjectReader, means_something
from .json_folders import (
    FOLDER_TYPES,
    LIST_KEYS,
    NEEDED_KEYS,
    NOT_BOOKMARKS,
    OBJECT_KEYS,
    SEPARATOR_TYPE,
    TAGS_FOLDER,
    folder_name,
)
from .records import CollectionRecord, FileRecord, InvalidRecord, Record

# Of arrays and objects. Container.collection is recursive.
MAX_DEPTH = 500

# Of an object. Further keys are kept only if they are among NEEDED_KEYS.
MAX_KEYS = 100


@dataclass(slots=True, eq=False)
class Container:
    """An array or object that is being read, or that contains a record."""

    # The container that it is in, or None for the file.
    parent: Any = None
    depth: int = 0
    # Its key in an object, or the key of the array that it is in.
    key: str = ""
    is_object: bool = False
    # Whether nothing in it is a bookmark, even if it has a URL.
    is_skipped: bool = False
    # The number of records in the file before it.
    records_before: int = 0
    # The values of an object by key. Those of an array only show that it is
    # not empty.
    values: dict[str, Any] = field(default_factory=dict)
    # The cached value of ``collection``, or None.
    path: str | None = None

    def keep(self, key: str, value: Any) -> None:
        """Keep a value if it is needed.

        Of other values, keep only whether they should be reported.
        """
        if key.casefold() in NEEDED_KEYS:
            self.values[key] = value
        elif len(self.values) < MAX_KEYS:
            self.values[key] = means_something(value)

    @property
    def folder_name(self) -> str | None:
        """The name of this folder, or None if it has not been read yet.

        It is an empty string if this is no folder.
        """
        if not self.is_object:
            return ""
        # The container without a parent is the file, which is no array.
        is_in_array = not self.parent.is_object and self.parent.parent is not None
        if is_in_array or "children" in self.values:
            return folder_name(self.values)
        return ""

    @property
    def collection(self) -> str:
        """The name of the collection for the bookmarks in this container."""
        if self.path is None:
            self.path = self.parent.collection
            name = self.folder_name
            if name:
                self.path = join_path(self.path, name)
        return self.path


class JsonReader:
    """Collects the records of a file from the events of its parser."""

    def __init__(self) -> None:
        self.objects = ObjectReader()
        # The innermost array or object that has not ended.
        self.container = Container(path="")
        # The last key that has been read.
        self.key = ""
        # The number of bookmarks so far, including refused entries.
        self.bookmark_count = 0
        # The number of records so far.
        self.record_count = 0
        # The records that have not been taken, with the containers that they
        # are in.
        self.waiting: list[tuple[Any, Container]] = []
        # The outermost object that may be a folder and whose name has not been
        # read. The records wait until it ends.
        self.nameless: Container | None = None

    def take_records(self) -> Iterator[FileRecord]:
        """Yield the records, unless they wait for the name of a folder."""
        if self.nameless is not None:
            return
        for record, container in self.waiting:
            if isinstance(record, InvalidRecord) or not container.collection:
                yield record
            else:
                yield record._replace(collection=container.collection)
        self.waiting.clear()

    def start_container(self, is_object: bool) -> None:
        """Begin an array or object."""
        parent = self.container
        if parent.depth == MAX_DEPTH:
            problem = _("it is nested deeper than %(levels)s levels")
            raise ijson.JSONError(problem % {"levels": MAX_DEPTH})
        key = self.key if parent.is_object else parent.key
        if key == "children":
            # The value does not matter. The key shows that this is a folder.
            parent.values[key] = False
        if self.nameless is None and parent.folder_name is None:
            self.nameless = parent
        is_skipped = (
            parent.is_skipped
            or key in NOT_BOOKMARKS
            or parent.values.get("guid") == TAGS_FOLDER
        )
        container = Container(
            parent,
            parent.depth + 1,
            key,
            is_object,
            is_skipped,
            records_before=self.record_count,
        )
        if is_object and parent.key == "roots":
            # folder_name() knows the folders of Chrome by this key.
            container.values["root"] = key
        self.container = container

    def end_container(self) -> None:
        """End the innermost array or object."""
        container = self.container
        parent = container.parent
        self.container = parent
        is_value = parent.is_object and container.key in OBJECT_KEYS
        if is_value and container.is_object:
            parent.keep(container.key, container.values)
        else:
            if container.is_object and not container.is_skipped:
                self.end_object(container)
            # If the parent is a bookmark, it reports this container as left
            # out, unless the container is empty or has records of its own.
            has_records = self.record_count > container.records_before
            parent.keep(container.key, bool(container.values) and not has_records)
        if container is self.nameless:
            self.nameless = None

    def end_object(self, container: Container) -> None:
        """Add the record of an object that has ended, if it has one.

        The object may be a bookmark, an empty folder or an entry without URL.
        """
        parent = container.parent
        values = container.values
        record = self.objects.record(self.bookmark_count + 1, values)
        if isinstance(record, Record):
            self.add_record(record, parent)
            return
        has_records = self.record_count > container.records_before
        if has_records:
            return
        value_type = values.get("type")
        if value_type in FOLDER_TYPES or not LIST_KEYS.isdisjoint(values):
            # A browser has these folders from the start.
            is_root = "root" in values
            if container.folder_name and not is_root:
                # take_records() adds the name of the collection.
                folder = CollectionRecord(self.bookmark_count, None)
                self.add_record(folder, container)
            return
        # In a list, everything should be a bookmark or a folder. The key is
        # that of the list. It is empty if the whole file is the list or the
        # object.
        has_list_key = container.key in LIST_KEYS or not container.key
        is_separator = value_type == SEPARATOR_TYPE
        if has_list_key and not parent.is_object and not is_separator:
            self.add_record(record, parent)

    def add_record(self, record: FileRecord, container: Container) -> None:
        self.record_count += 1
        self.bookmark_count = record.line
        self.waiting.append((record, container))


def read(file: BinaryIO, encoding: str | None = None) -> Iterator[FileRecord]:
    """Yield a record for each bookmark.

    Raises UnreadableFile after the last one if the file is invalid.

    Records wait in memory for the names of their folders, which usually come
    before them.
    """
    reader = JsonReader()
    reason = None
    # Bytes that cannot be decoded become bytes that are not UTF-8, at which
    # ijson raises an error.
    chunks = (
        chunk.encode(errors="surrogateescape")
        for chunk in read_chunks(open_text(file, encoding))
    )
    # Usually a file has one value, but several may follow one another.
    events = ijson.basic_parse(
        ijson.from_iter(chunks), use_float=True, multiple_values=True
    )
    try:
        for event, value in events:
            if event == "map_key":
                reader.key = value
            elif value is not None or event == "null":
                # A string, number, boolean or null.
                reader.container.keep(reader.key, value)
            elif event.startswith("start_"):
                reader.start_container(is_object=event == "start_map")
            else:
                reader.end_container()
            if reader.waiting:
                yield from reader.take_records()
    except ijson.JSONError as error:
        reason = describe(error)
    # No name follows for an object that is still open.
    reader.nameless = None
    yield from reader.take_records()
    if reason is not None:
        problem = _(
            "The file cannot be read after %(number)s bookmarks, because it is not "
            "valid JSON: %(reason)s."
        )
        raise UnreadableFile(
            problem % {"number": reader.bookmark_count, "reason": reason}
        )


def describe(error: ijson.JSONError) -> str:
    """Return the message of an error of the parser, without a full stop.

    If it is from yajl, ijson's parser in C, its second line is the invalid
    text.
    """
    message: str | bytes = error.args[0]
    if isinstance(message, bytes):
        message = message.decode(errors="replace")
    problem, *lines = message.split("\n")
    problem = problem.rstrip(".")
    if lines and lines[0].strip():
        problem = f"{problem}, near {lines[0].strip()}"
    return problem
