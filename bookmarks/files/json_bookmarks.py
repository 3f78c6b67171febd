"""Bookmarks as JSON, which other programs export: lists of objects, or folders with children.

Records have the ordinal numbers of the bookmarks, because the lines of such a file mean nothing.
"""

from collections.abc import Iterator
from typing import Any, BinaryIO

from django.utils.translation import gettext as _

from .collection_names import joined
from .columns import ObjectReader
from .encodings import open_text
from .json_folders import TAGS, Entry, JsonObject
from .json_parser import InvalidJson, JsonParser
from .records import FileRecord, InvalidRecord

LISTS = ("bookmarks", "results", "items")
"""Keys of the list of bookmarks, if the file is an object and not a folder."""

SEPARATOR = "text/x-moz-place-separator"


def read(file: BinaryIO, encoding: str | None = None) -> Iterator[FileRecord]:
    """Yield a record for each bookmark. If the file is invalid, yield an InvalidRecord at the end."""
    reader = _Reader(JsonParser(open_text(file, encoding)))
    path: tuple[str, ...] = ()
    name = ""
    try:
        for folders, record in reader.entries():
            if folders and folders != path:
                path, name = folders, joined(folders)
            if not folders or isinstance(record, InvalidRecord):
                yield record
            elif folders[0] == TAGS:
                yield InvalidRecord(record.line, _("This is a tag of a bookmark. Tags are not imported."))
            else:
                yield record._replace(collection=name)
    except InvalidJson as error:
        reason = _("The rest of the file cannot be read, because it is not valid JSON: %(reason)s.")
        yield InvalidRecord(reader.number + 1, reason % {"reason": error})


class _Reader:
    def __init__(self, parser: JsonParser) -> None:
        self.parser = parser
        self.objects = ObjectReader()
        self.number = 0
        """The number of bookmarks so far."""

    def entries(self) -> Iterator[Entry]:
        """Yield the entries of all values in the file. Usually, there is one value."""
        while (first := self.parser.token())[0]:
            if first[0] == "[":
                yield from self.elements()
            else:
                yield from self.element(*first)

    def elements(self) -> Iterator[Entry]:
        for first in self.parser.parts("]"):
            yield from self.element(*first)

    def element(self, kind: str, scalar: Any, root: str | None = None) -> Iterator[Entry]:
        """Yield the entries in the value that begins with this token. ``root`` is the key of a folder of Chrome."""
        values = {"root": root} if root else {}
        if kind != "{":
            self.parser.value(kind, scalar)
            self.number += 1
            yield (), InvalidRecord(self.number, _("The entry is not a JSON object."))
        elif (flat := self.parser.flat_object()) is not None:
            yield from self.end_of(JsonObject(flat | values))
        else:
            yield from self.object(JsonObject(values), is_top=self.parser.depth == 0)

    def object(self, current: JsonObject, is_top: bool) -> Iterator[Entry]:
        """Yield the entries in an object whose opening brace has been read."""
        is_list = False
        try:
            for key, kind, scalar in self.parser.members():
                if kind == "[" and key == "children":
                    current.has_children = True
                    for entry in self.elements():
                        yield from current.add(entry)
                elif kind == "[" and is_top and key in LISTS:
                    is_list = True
                    yield from self.elements()
                elif kind == "{" and is_top and key == "roots":
                    is_list = True
                    yield from self.roots()
                elif kind == "{" and key == "content":
                    for inner, *first in self.parser.members():
                        current.keep(f"content.{inner}", self.parser.value(*first))
                else:
                    current.keep(key, self.parser.value(kind, scalar))
        except InvalidJson:
            yield from current.waiting
            raise
        if not is_list:
            yield from self.end_of(current)

    def roots(self) -> Iterator[Entry]:
        for root, kind, scalar in self.parser.members():
            if kind == "{":
                yield from self.element(kind, scalar, root)
            else:
                self.parser.value(kind, scalar)

    def end_of(self, current: JsonObject) -> Iterator[Entry]:
        if current.is_folder:
            yield from current.end(self.number)
        elif current.values.get("type") != SEPARATOR:
            self.number += 1
            yield (), self.objects.record(self.number, current.values)
