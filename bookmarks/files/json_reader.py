"""The search for bookmarks and folders in a JSON file."""

from collections.abc import Iterator
from typing import Any

from django.utils.translation import gettext as _

from .columns import NESTED, ObjectReader
from .json_folders import FolderContents, JsonFolder, folder_name
from .json_objects import LISTS, URLS, JsonObject, Level
from .json_parser import JsonParser
from .json_tokens import OTHER_SCALAR, STRING
from .records import CollectionRecord, FileRecord, InvalidRecord
from .report import MAX_NAMES, OTHER_NAMES

SCALARS = (STRING, OTHER_SCALAR)


class JsonReader:
    """Reads a file. The open arrays and objects are a list, because recursion would limit their number."""

    def __init__(self, parser: JsonParser) -> None:
        self.parser = parser
        self.objects = ObjectReader()
        self.contents = FolderContents()
        self.levels: list[Level] = []
        self.number = 0
        """The number of bookmarks so far."""
        self.found = 0
        """The number of bookmarks, folders and separators so far."""
        self.not_an_object = _("The entry is not a JSON object.")
        self.told: set[str] = set()
        """The keys that have been told to be left out."""

    def records(self) -> Iterator[FileRecord]:
        """Yield the records of all values in the file. Usually, there is one value."""
        file = Level(JsonFolder(None, ""))
        while (first := self.parser.token())[0]:
            self.element(first[0], file)
            while self.levels:
                level = self.levels[-1]
                if (part := next(level.parts, None)) is None:
                    self.levels.pop()
                    self.end(level)
                else:
                    level.has_parts = True
                    if level.current is None:
                        self.element(part[0], level)
                    else:
                        self.member(part, level, level.current)
                if self.contents.ready:
                    yield from self.contents.take()
            yield from self.contents.take()

    def element(self, kind: str, level: Level) -> None:
        """Read an element of an array. Its first token has been read."""
        if kind in SCALARS:
            if level.is_list:
                self.refuse(self.not_an_object, level.folder)
            elif level.owner:
                level.owner.leave(level.key)
            return
        current = None
        if kind == "{":
            is_element = self.parser.depth > 0
            if is_element and (flat := self.parser.flat_object(LISTS)) is not None:
                if level.is_list and "type" not in flat and LISTS.isdisjoint(flat):
                    self.number += 1
                    self.add(self.objects.record(self.number, flat), level.folder)
                else:
                    self.end_object(JsonObject.of(flat), level)
                return
            current = JsonObject(is_element=is_element)
        self.open(kind, Level(level.folder, level.key, level.owner, level.is_list, current))

    def open(self, kind: str, level: Level) -> None:
        level.parts, level.found = self.parser.inside(kind), self.found
        self.levels.append(level)

    def member(self, part: tuple[Any, ...], level: Level, current: JsonObject) -> None:
        """Read a member of an object. Its key and the first token of its value have been read."""
        key, kind, scalar = part
        if kind in SCALARS:
            current.keep(key, scalar)
            if current.folder and current.folder.name is None and (name := folder_name(current.values)) is not None:
                self.contents.name(current.folder, name)
        elif kind == "{" and key == NESTED and current.is_element:
            content = JsonObject()
            for inner, inner_kind, inner_scalar in self.parser.members():
                if inner_kind in SCALARS:
                    content.keep(inner, inner_scalar)
                else:
                    has_parts, has_url = self.parser.skip(inner_kind, URLS)
                    content.keep(inner, has_parts)
                    if has_url:
                        current.leave(key, has_url)
            current.keep(key, content.values)
            current.has_url = current.has_url or content.has_url
        elif current.looks_through(key):
            self.look_through(key, kind, level, current)
        else:
            has_parts, has_url = self.parser.skip(kind, URLS)
            current.keep(key, has_parts)
            if has_url or (has_parts and not current.is_element):
                current.leave(key, has_url)

    def look_through(self, key: str, kind: str, level: Level, current: JsonObject) -> None:
        current.start_list(key)
        folder = level.folder
        if key == "children" or current.is_element:
            if not current.folder:
                current.folder = JsonFolder(level.folder, folder_name(current.values))
                self.contents.enter(current.folder)
            folder = current.folder
        is_list = key in LISTS or (level.is_list and level.owner is not None)
        inner = JsonObject(is_element=False) if kind == "{" else None
        if inner and level.key == "roots":
            inner.keep("root", key)
        self.open(kind, Level(folder, key, current, is_list, inner))

    def end(self, level: Level) -> None:
        if level.current:
            self.end_object(level.current, level)
        if level.has_parts and self.found == level.found and level.owner:
            level.owner.leave(level.key, level.current is not None and level.current.hides_url)

    def end_object(self, current: JsonObject, level: Level) -> None:
        """Add the records of an object. ``level`` is its own one, or that of the array around it."""
        is_entry = current.is_element or level.owner is None
        if current.has_url and (level.is_list or is_entry):
            self.number += 1
            self.add(self.objects.record(self.number, current.values), level.folder)
        elif current.is_separator:
            self.found += 1
        elif level.is_list and is_entry and current.says_nothing:
            self.number += 1
            self.add(self.objects.record(self.number, current.values), level.folder)
        elif level.owner and (current.has_url or (current.is_element and current.says_nothing)):
            level.owner.leave(level.key, current.has_url)
        self.end_folder(current, level)
        if not current.has_url and (is_entry or self.found > level.found):
            self.tell(current, level.folder)

    def end_folder(self, current: JsonObject, level: Level) -> None:
        if not (current.folder or current.is_folder):
            return
        name = folder_name(current.values) or ""
        folder = current.folder or JsonFolder(level.folder, name)
        self.contents.name(folder, name)
        if current.is_folder:
            self.found += 1
            if folder.is_empty and name and not current.is_root and not current.has_url:
                self.add(CollectionRecord(self.number, None), folder)
        level.folder.is_empty = level.folder.is_empty and folder.is_empty

    def tell(self, current: JsonObject, folder: JsonFolder) -> None:
        """Tell, once for each key, which arrays and objects in the object are not read."""
        for key, has_url in current.unread.items():
            name = key if len(self.told) < MAX_NAMES else OTHER_NAMES
            if name not in self.told and key not in self.told and (has_url or not current.is_folder):
                self.told.add(name)
                self.refuse(_("The key %(key)s is not imported.") % {"key": name}, folder)

    def add(self, record: FileRecord, folder: JsonFolder) -> None:
        self.found += 1
        self.contents.add(record, folder)

    def refuse(self, reason: str, folder: JsonFolder) -> None:
        self.number += 1
        self.add(InvalidRecord(self.number, reason), folder)
