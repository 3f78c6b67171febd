"""The folders in JSON files."""

from collections.abc import Iterator
from sys import getsizeof
from typing import Any

from django.utils.translation import gettext as _

from .collection_names import shortened, within
from .records import FileRecord, InvalidRecord

TAGS = "\0"  # not the name of any other folder that can be stored
ROOTS = {
    "root________": "", "placesRoot": "",
    "menu________": "", "bookmarksMenuFolder": "",
    "toolbar_____": "Bookmarks Toolbar", "toolbarFolder": "Bookmarks Toolbar",
    "unfiled_____": "Other Bookmarks", "unfiledBookmarksFolder": "Other Bookmarks",
    "mobile______": "Mobile Bookmarks", "mobileFolder": "Mobile Bookmarks",
    "tags________": TAGS, "tagsFolder": TAGS,
    "other": "", "synced": "",
}  # fmt: skip
"""The names of the folders that a browser has from the start, as in the HTML files that it exports.

Firefox identifies them by ``guid``, or by ``root`` in old files, and Chrome by their keys in ``roots``. Folders without
a name are the top level of the HTML files.
"""

MAX_FOLDER_NAME = 1000  # characters; a longer name is cut
MAX_WAITING = 64 * 1024 * 1024  # bytes of memory of the records that wait for the names of their folders
RECORD_SIZE = 300  # bytes of memory of a record without its values
FOLDER_SIZE = 1300  # bytes of memory of a folder and the name of its collection


class JsonFolder:
    """A folder whose contents are being read, or wait for its name."""

    __slots__ = ("is_empty", "known_collection", "name", "parent")

    def __init__(self, parent: "JsonFolder | None", name: str | None) -> None:
        self.parent = parent
        self.name = name
        """None until it has been read."""
        self.known_collection: str | None = None if parent else ""
        self.is_empty = True

    @property
    def collection(self) -> str:
        """Return the name of the collection, TAGS or an empty string. All folders around this one must have names."""
        path: list[JsonFolder] = []
        folder = self
        while folder.known_collection is None and folder.parent:
            path.append(folder)
            folder = folder.parent
        collection = folder.known_collection or ""
        for folder in reversed(path):
            if TAGS in (collection, folder.name):
                collection = TAGS
            elif folder.name:
                collection = within(collection, folder.name)
            folder.known_collection = collection
        return collection

    def place(self, record: FileRecord) -> FileRecord:
        """Return a record of the folder with the name of the collection."""
        if isinstance(record, InvalidRecord) or not (name := self.collection):
            return record
        if name == TAGS:
            return InvalidRecord(record.line, _("This is a tag of a bookmark. Tags are not imported."))
        return record._replace(collection=name)


class FolderContents:
    """The records of a file, in its order. They wait for the names of their folders, which Chrome writes after them."""

    def __init__(self) -> None:
        self.ready: list[FileRecord] = []
        self.waiting: list[tuple[FileRecord, JsonFolder]] = []
        self.waiting_size = 0
        self.nameless: list[JsonFolder] = []
        """The folders around the present place that have no name yet, outermost first."""

    def take(self) -> Iterator[FileRecord]:
        """Yield the records that are ready."""
        yield from self.ready
        self.ready.clear()

    def enter(self, folder: JsonFolder) -> None:
        if folder.name is None:
            self.nameless.append(folder)
        if self.nameless:
            self.waiting_size += FOLDER_SIZE + getsizeof(folder.name)

    def name(self, folder: JsonFolder, name: str) -> None:
        """Give an innermost folder its name."""
        if folder.name is not None:
            return
        folder.name = name
        self.waiting_size += getsizeof(name)
        self.nameless.pop()
        if not self.nameless:
            self.ready += [waiting.place(record) for record, waiting in self.waiting]
            self.waiting.clear()
            self.waiting_size = 0

    def name_all(self) -> None:
        """Give up waiting for names. The records stay in the folders around those without a name."""
        while self.nameless:
            self.name(self.nameless[-1], "")

    def add(self, record: FileRecord, folder: JsonFolder) -> None:
        folder.is_empty = False
        if not self.nameless:
            self.ready.append(folder.place(record))
            return
        self.waiting.append((record, folder))
        self.waiting_size += RECORD_SIZE + sum(map(getsizeof, record))
        if not isinstance(record, InvalidRecord):
            self.waiting_size += sum(map(getsizeof, getattr(record, "left_out", ())))
        if self.waiting_size > MAX_WAITING:
            self.name_all()
            reason = _("The folder of this bookmark and others is unknown, because too many come before its name.")
            self.ready.append(InvalidRecord(record.line, reason))


def folder_name(values: dict[str, Any]) -> str | None:
    """Return the name of a folder with these values, or None if it is not among them."""
    if (root := root_name(values)) is not None:
        return root
    for key in ("title", "name"):
        if key in values:
            name = str(values[key] or "")
            return name if len(name) <= MAX_FOLDER_NAME else name[:MAX_FOLDER_NAME] + shortened(name)
    return None


def root_name(values: dict[str, Any]) -> str | None:
    """Return the name of a folder if a browser has it from the start."""
    names = (ROOTS.get(str(values.get(key))) for key in ("guid", "root"))
    return next((name for name in names if name is not None), None)
