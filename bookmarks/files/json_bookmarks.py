"""Bookmarks as JSON, which other programs export.

An object with a URL is a bookmark, except under NOT_BOOKMARKS. An object
around it is its folder if it has a name, and if it is in an array or has the
key "children".

The ``line`` of a record is the number of the bookmark, because line numbers
are of no use in such a file.

ijson reads a stream in constant memory. It stops reading a file at ``NaN``,
``Infinity``, exponents of more than 18 digits, control characters in strings
and lone low surrogates, and replaces lone high surrogates by ``?``.
"""

import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import takewhile
from typing import Any, TextIO

import ijson
from django.utils.translation import gettext as _

from usergroups.api.deadlines import Deadline

from .content import UnreadableFile
from .decoding import read_chunks
from .field_names import NAMES, NESTED, ObjectReader, means_something, normalized
from .json_folders import (
    ARRAY_KEYS,
    FOLDER_TYPES,
    LIST_KEYS,
    LISTS,
    NEEDED_KEYS,
    NOT_BOOKMARKS,
    OBJECT_KEYS,
    SEPARATOR_TYPE,
    TAGS_FOLDER,
    Folders,
)
from .records import CollectionRecord, FileRecord, InvalidRecord, Record

# Of arrays and objects.
MAX_DEPTH = 500

# An integer of more than 4,300 digits makes ijson crash.
LONG_NUMBER = re.compile(rb"(?<!\d)(\d{2000})\d+")
# To find such a number in a twentieth of the time.
ZEROS_FOR_DIGITS = bytes.maketrans(b"123456789", b"000000000")
ZEROS = b"0" * 2001

# Of an object. Further keys are kept only if they are among NEEDED_KEYS.
MAX_KEYS = 100


@dataclass(slots=True, eq=False)
class Container:
    """An array or object that is being read."""

    # The container that it is in, or None for the file.
    parent: Any = None
    # Counts the containers in the order in which they begin.
    number: int = 0
    depth: int = 0
    # Its key in an object, or the key of the array that it is in.
    key: str = ""
    is_object: bool = False
    # Whether nothing in it is a bookmark, even if it has a URL.
    is_skipped: bool = False
    # The number of records in the file before it.
    records_before: int = 0
    # The name of the collection for the bookmarks in it.
    collection: str = ""
    # The values of an object by key. Those of an array only show that it is
    # not empty, unless it has one of ARRAY_KEYS: then they are here by number.
    values: dict[Any, Any] = field(default_factory=dict)

    def keep(self, key: str, value: Any) -> None:
        """Keep a value if it is needed.

        Of other values, keep only whether they should be reported.
        """
        if self.is_needed_array:
            if len(self.values) < MAX_KEYS:
                self.values[len(self.values)] = value
            else:
                # Report that the rest is left out.
                self.parent.values[f"{self.key}[{MAX_KEYS}:]"] = True
        elif normalized(key) in NEEDED_KEYS:
            self.values[key] = value
        elif len(self.values) < MAX_KEYS:
            self.values[key] = means_something(value, key)

    @property
    def is_needed_array(self) -> bool:
        return not self.is_object and normalized(self.key) in ARRAY_KEYS

    @property
    def may_be_folder(self) -> bool:
        """Whether this is an object in an array or has the key "children"."""
        # The container without a parent is the file, which is no array.
        is_in_array = not self.parent.is_object and self.parent.parent is not None
        return is_in_array or "children" in self.values


class JsonReader:
    """Collects the folders and the records of a file from the events of its
    parser.
    """

    def __init__(self, folders: Folders | None = None) -> None:
        # The folders that a first reading has found. Without them, the records
        # only show where the bookmarks are.
        self.folders = folders or Folders()
        self.found = Folders()
        self.read_record = ObjectReader().record if folders else only_url
        # The innermost array or object that has not ended.
        self.container = Container()
        self.container_count = 0
        # The last key that has been read.
        self.key = ""
        # The number of bookmarks so far, including refused entries.
        self.bookmark_count = 0
        # The number of records so far: those of bookmarks, and of folders that
        # are empty. A bookmark in several lists has a record for each of them.
        self.record_count = 0
        # The records of the last object.
        self.records: list[FileRecord] = []

    def read(
        self, text: TextIO, deadline: Deadline | None = None
    ) -> Iterator[FileRecord]:
        """Yield the records. Raises UnreadableFile if the text is not JSON, or
        when the deadline passes.
        """
        parts = read_chunks(text)
        if deadline is not None:
            parts = takewhile(lambda part: not deadline.has_passed(), parts)
        # Bytes that cannot be decoded become bytes that are not UTF-8, at
        # which ijson raises an error.
        chunks = (part.encode(errors="surrogateescape") for part in parts)
        # Usually a file has one value, but several may follow one another.
        events = ijson.basic_parse(
            # Otherwise large integers would be errors.
            ijson.from_iter(shortened_numbers(chunks)),
            use_float=False,
            multiple_values=True,
        )
        try:
            for event, value in events:
                if event == "map_key":
                    self.key = value
                elif value is not None or event == "null":
                    # A string, number, boolean or null.
                    is_decimal = isinstance(value, Decimal)
                    scalar = float(value) if is_decimal else value
                    self.container.keep(self.key, scalar)
                elif event.startswith("start_"):
                    self.start_container(is_object=event == "start_map")
                else:
                    self.end_container()
                if self.records:
                    yield from self.records
                    self.records.clear()
        except (ijson.JSONError, ArithmeticError) as error:
            problem = _(
                "The file cannot be read after %(number)s bookmarks, because it is not "
                "valid JSON: %(reason)s."
            )
            reason = {"number": self.bookmark_count, "reason": describe(error)}
            raise UnreadableFile(problem % reason) from error

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
        is_skipped = (
            parent.is_skipped
            or key in NOT_BOOKMARKS
            or parent.values.get("guid") == TAGS_FOLDER
        )
        self.container_count += 1
        container = Container(
            parent,
            self.container_count,
            parent.depth + 1,
            key,
            is_object,
            is_skipped,
            records_before=self.record_count,
            collection=self.folders.collection(self.container_count, parent.collection),
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
        if parent.is_object and container.is_needed_array:
            parent.values[container.key] = list(container.values.values())
            return
        is_value = parent.is_object and container.key in OBJECT_KEYS
        if is_value and container.is_object:
            parent.keep(container.key, container.values)
            return
        if container.is_object and not container.is_skipped:
            self.end_object(container)
        # If the parent is a bookmark, it reports this container as left out,
        # unless the container is empty or has records of its own.
        has_records = self.record_count > container.records_before
        value: Any = bool(container.values) and not has_records
        if value and container.is_object and parent.is_needed_array:
            # A tag or a highlight.
            value = container.values
        parent.keep(container.key, value)

    def end_object(self, container: Container) -> None:
        """Add the records of an object that has ended, and its folder.

        The object may be a bookmark, a folder or an entry without URL.
        """
        parent = container.parent
        values = container.values
        has_records = self.record_count > container.records_before
        value_type = values.get("type")
        has_list = value_type in FOLDER_TYPES or not LIST_KEYS.isdisjoint(values)
        is_folder = has_records or has_list or container.key == LISTS
        if is_folder and container.may_be_folder:
            self.found.add(container.number, values)
        record = self.read_record(self.bookmark_count + 1, values)
        if isinstance(record, Record):
            self.add_bookmark(record, values.get(LISTS), parent.collection)
            return
        if has_records:
            return
        if has_list:
            # A browser has these folders from the start.
            is_root = "root" in values
            if container.number in self.found.by_number and not is_root:
                folder = CollectionRecord(self.bookmark_count, container.collection)
                self.add_record(folder)
            return
        # In a list, everything should be a bookmark or a folder. The key is
        # that of the list. It is empty if the whole file is the list or the
        # object.
        has_list_key = container.key in LIST_KEYS or not container.key
        is_separator = value_type == SEPARATOR_TYPE
        if has_list_key and not parent.is_object and not is_separator:
            if isinstance(record, CollectionRecord) and parent.collection:
                record = record._replace(collection=parent.collection)
            self.add_record(record)

    def add_bookmark(self, record: Record, lists: Any, collection: str) -> None:
        """Add a bookmark that is in the folder with this path, or in lists
        with these ids.
        """
        paths: list[str] = []
        if isinstance(lists, list):
            ids = [each for each in lists if not isinstance(each, dict)]
            paths = [self.folders.path(each) for each in dict.fromkeys(ids)]
            paths = list(filter(None, paths))
        if paths:
            left_out = tuple(name for name in record.left_out if name != LISTS)
            record = record._replace(left_out=left_out)
        for path in paths or [collection]:
            self.add_record(record._replace(collection=path or record.collection))

    def add_record(self, record: FileRecord) -> None:
        self.record_count += 1
        self.bookmark_count = record.line
        self.records.append(record)

    def close(self) -> None:
        """End the arrays and objects that the file leaves open."""
        while self.container.parent is not None:
            self.end_container()


def shortened_numbers(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the chunks of a text with no more than 2,000 digits in a row."""
    digits = b""
    for chunk in chunks:
        text = digits + chunk
        if ZEROS in text.translate(ZEROS_FOR_DIGITS):
            text = LONG_NUMBER.sub(rb"\1", text)
        # The next chunk may begin with more digits.
        complete = text.rstrip(b"0123456789")
        digits = text[len(complete) :]
        if complete:
            yield complete
    yield digits


def only_url(line: int, values: Mapping[str, Any]) -> FileRecord:
    """Return a Record if an object has a URL, without its other fields."""
    nested = values.get(NESTED)
    if isinstance(nested, dict) and nested.get("url"):
        return Record(line)
    for key, value in values.items():
        if value and normalized(key) in NAMES["url"]:
            return Record(line)
    return InvalidRecord(line, "")


def read(text: TextIO, deadline: Deadline | None = None) -> Iterator[FileRecord]:
    """Yield a record for each bookmark.

    Raises UnreadableFile after the last one if the file is invalid.

    The text is read twice, because the name of a folder may come after the
    bookmarks in it. The first reading ends at the deadline.
    """
    first = JsonReader()
    with suppress(UnreadableFile):
        deque(first.read(text, deadline), maxlen=0)
    first.close()
    text.seek(0)
    yield from JsonReader(first.found).read(text)


def describe(error: Exception) -> str:
    """Return the message of an error of the parser, without a full stop.

    If it is from yajl, ijson's parser in C, its second line is the invalid
    text. A number with a very large exponent is an ArithmeticError.
    """
    if not isinstance(error, ijson.JSONError):
        return _("it contains a number that is too large")
    message: str | bytes = error.args[0]
    if isinstance(message, bytes):
        message = message.decode(errors="replace")
    problem, *lines = message.split("\n")
    problem = problem.rstrip(".")
    if lines and lines[0].strip():
        problem = f"{problem}, near {lines[0].strip()}"
    return problem
