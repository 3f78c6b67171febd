"""Bookmarks as JSON, which other programs export.

An object with a URL is a bookmark, except under NOT_BOOKMARKS. An object
around it is its folder if it has a name, and if it is in an array or has the
key "children".

The ``line`` of a record is the number of the bookmark, because line numbers
are of no use in such a file.

ijson reads a stream in constant memory. It stops reading a file at ``NaN``,
``Infinity``, integers of more than 64 bits, numbers that overflow a double,
control characters in strings and lone low surrogates, and replaces lone high
surrogates by ``?``.
"""

from collections import deque
from collections.abc import Generator, Iterator, Mapping
from contextlib import suppress
from typing import Any, NamedTuple, TextIO

import ijson

from .decoding import read_chunks
from .fields import normalized, record_of
from .json_folders import (
    LIST_KEYS,
    NEEDED_KEYS,
    OBJECT_KEYS,
    URL_KEYS,
    Folders,
    has_list,
    root_of,
)
from .problems import Problem, UnreadableFile, gettext_noop
from .programs import (
    BROWSER_FOLDERS,
    FIREFOX_SEPARATOR,
    FIREFOX_TAGS,
    KARAKEEP_LISTS,
    NOT_BOOKMARKS,
)
from .records import CollectionRecord, FileRecord, JsonValue, Record

# Of arrays and objects. A reader of each of them is on Python's stack.
MAX_DEPTH = 250

# Of an array, such as tags. Further ones are not kept.
MAX_ITEMS = 1000

# The events that begin arrays and objects.
CONTAINERS = ("start_map", "start_array")

# Yields records and returns a value.
Reading = Generator[FileRecord, None, JsonValue]


class Place(NamedTuple):
    """Where in a file an array or object is."""

    # Its key in an object, normalized, or the key of the array that it is in, or
    # an empty string.
    key: str = ""
    is_in_object: bool = False
    # The number of arrays and objects around it.
    depth: int = 0
    # Whether nothing in it is a bookmark, even if it has a URL.
    is_skipped: bool = False
    # The name of the collection for the bookmarks in it.
    collection: str = ""

    @property
    def is_in_list(self) -> bool:
        """Whether everything here should be a bookmark or a folder.

        A file may be such a list, or a single object.
        """
        is_list = self.key in LIST_KEYS or not self.key
        return is_list and not self.is_in_object


class JsonReader:
    """Reads the arrays and objects of a file from the events of its parser."""

    def __init__(self, folders: Folders) -> None:
        self.folders = folders
        self.events: Iterator[tuple[str, Any]] = iter(())
        self.object_count = 0
        # The number of bookmarks so far, including refused entries.
        self.bookmark_count = 0
        # The number of records so far: those of bookmarks, and of folders that
        # are empty. A bookmark in several lists has a record for each of them.
        self.record_count = 0

    def read(self, text: TextIO) -> Iterator[FileRecord]:
        """Yield the records. Raises UnreadableFile if the text is not JSON."""
        # Bytes that cannot be decoded become bytes that are not UTF-8, at
        # which ijson raises an error.
        chunks = (part.encode(errors="surrogateescape") for part in read_chunks(text))
        self.events = ijson.basic_parse(
            ijson.from_iter(chunks),
            # Otherwise an integer of more than 4,300 digits would crash the
            # process.
            use_float=True,
            multiple_values=True,
        )
        try:
            # Usually a file has one value, but several may follow one another.
            for event, _value in self.events:
                if event in CONTAINERS:
                    yield from self.read_container(event, Place())
        except ijson.JSONError as error:
            problem = gettext_noop(
                "The file cannot be read after %(number)s bookmarks, because it is not "
                "valid JSON: %(reason)s.",
                number=self.bookmark_count,
                reason=describe(error),
            )
            raise UnreadableFile(problem) from error

    def read_container(self, event: str, place: Place) -> Reading:
        """Return the generator that reads the array or object that begins."""
        if place.depth == MAX_DEPTH:
            problem = gettext_noop(
                "it is nested deeper than %(levels)s levels", levels=MAX_DEPTH
            )
            raise ijson.JSONError(problem)
        if event == "start_map":
            return self.read_object(place)
        return self.read_array(place)

    def read_array(self, place: Place) -> Reading:
        """Yield the records in an array, and return its first values."""
        inside = place._replace(is_in_object=False, depth=place.depth + 1)
        items: list[JsonValue] = []
        for event, value in self.events:
            if event == "end_array":
                break
            item = value
            if event in CONTAINERS:
                item = yield from self.read_container(event, inside)
            if len(items) < MAX_ITEMS:
                items.append(item)
        return items

    def read_object(self, place: Place) -> Reading:
        """Yield the records in an object, and then its own.

        Return its values with the NEEDED_KEYS, or an empty dict if there were
        records.
        """
        self.object_count += 1
        number = self.object_count
        collection = self.folders.collection(number, place.collection)
        records_before = self.record_count
        values: dict[str, JsonValue] = {}
        for event_of_key, name in self.events:
            if event_of_key == "end_map":
                break
            key = normalized(name)
            event, value = next(self.events)
            if event in CONTAINERS:
                is_skipped = (
                    place.is_skipped
                    or key in NOT_BOOKMARKS
                    or values.get("root") == FIREFOX_TAGS
                )
                inside = Place(key, True, place.depth + 1, is_skipped, collection)
                value = yield from self.read_container(event, inside)
            if key in NEEDED_KEYS:
                values[key] = value
        has_records = self.record_count > records_before
        # The object around it is the bookmark, of which it is a property.
        is_value = place.is_in_object and place.key in OBJECT_KEYS
        if not is_value and not place.is_skipped:
            for record in self.records(number, place, values, has_records):
                self.record_count += 1
                self.bookmark_count = record.line
                yield record
        return {} if self.record_count > records_before else values

    def records(
        self,
        number: int,
        place: Place,
        values: Mapping[str, JsonValue],
        has_records: bool,
    ) -> Iterator[FileRecord]:
        """Yield the records of an object, which may be a bookmark, a folder or
        an entry without URL.

        ``number`` is the position of the object among the objects of the file.
        ``has_records`` tells whether the values in the object had records.
        """
        record = record_of(self.bookmark_count + 1, values, place.collection)
        if isinstance(record, Record):
            lists = values.get(KARAKEEP_LISTS)
            if isinstance(lists, list):
                yield from self.folders.copies(record, lists)
            else:
                yield record
        # A folder has a record of its own only if it is empty. Browsers create
        # some folders for every user, which become no collections then.
        elif has_list(values):
            is_empty = not has_records and root_of(values) not in BROWSER_FOLDERS
            if is_empty and number in self.folders.by_number:
                collection = self.folders.collection(number, place.collection)
                yield CollectionRecord(self.bookmark_count, collection)
        elif (
            place.is_in_list
            and not has_records
            and values.get("type") != FIREFOX_SEPARATOR
        ):
            yield record


class FolderFinder(JsonReader):
    """Adds the folders of a file to ``folders``. Its records only show where
    bookmarks are.
    """

    def records(
        self,
        number: int,
        place: Place,
        values: Mapping[str, JsonValue],
        has_records: bool,
    ) -> Iterator[FileRecord]:
        has_content = has_records or has_list(values)
        # Karakeep's lists contain no bookmarks. Bookmarks name their ids.
        is_list = has_content or place.key == KARAKEEP_LISTS
        # The object that is the whole file is not in an array.
        is_in_array = place.depth > 0 and not place.is_in_object
        if is_list and (is_in_array or "children" in values):
            self.folders.add(number, values)
        if has_content or not URL_KEYS.isdisjoint(values):
            yield Record(0)


def read(text: TextIO) -> Iterator[FileRecord]:
    """Yield a record for each bookmark.

    Raises UnreadableFile after the last one if the file is invalid.

    The text is read twice, because the name of a folder may come after the
    bookmarks in it.
    """
    folders = Folders()
    with suppress(UnreadableFile):
        deque(FolderFinder(folders).read(text), maxlen=0)
    text.seek(0)
    yield from JsonReader(folders).read(text)


def describe(error: ijson.JSONError) -> str:
    """Return the message of an error of the parser, without a full stop and
    without the invalid text on its next lines.
    """
    message: str | bytes = error.args[0]
    if isinstance(message, Problem):
        return message
    if isinstance(message, bytes):
        message = message.decode(errors="replace")
    return message.partition("\n")[0].rstrip(".")
