"""The folders of browsers in JSON files."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from django.utils.translation import gettext as _

from .collection_names import shortened
from .records import CollectionRecord, FileRecord, InvalidRecord
from .report import MAX_NAME_LENGTH, OTHER_NAMES

FOLDER_TYPES = ("folder", "text/x-moz-place-container")

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

MAX_KEYS = 100  # of an object; the values of further ones are not kept
MAX_FOLDER_NAME = 1000  # characters; a longer name is cut
MAX_WAITING = 100_000  # entries that wait for the name of their folder

Entry = tuple[tuple[str, ...], FileRecord]
"""The names of the folders that contain a record, outermost first, and the record."""


@dataclass
class JsonObject:
    """An object that is being read: a bookmark or a folder."""

    values: dict[str, Any]
    has_children: bool = False
    is_empty: bool = True
    """Whether no entries of the folder have been read."""
    is_nameless: bool = False
    """Whether the name would come too late."""
    waiting: list[Entry] = field(default_factory=list)
    """Entries that have been read before the name of the folder, because Chrome writes the name after them."""

    def keep(self, key: str, value: Any) -> None:
        key = key[: MAX_NAME_LENGTH + 1]
        self.values[key if len(self.values) < MAX_KEYS else OTHER_NAMES] = value

    @property
    def is_folder(self) -> bool:
        return self.has_children or "children" in self.values or self.values.get("type") in FOLDER_TYPES

    @property
    def root(self) -> str | None:
        """Return the name of the folder if a browser has it from the start."""
        names = (ROOTS.get(str(self.values.get(key))) for key in ("guid", "root"))
        return next((name for name in names if name is not None), None)

    @property
    def name(self) -> str | None:
        """Return the name of the folder, or None if it has not been read yet."""
        if self.root is not None or self.is_nameless:
            return self.root or ""
        for key in ("title", "name"):
            if key in self.values:
                name = str(self.values[key] or "")
                return name if len(name) <= MAX_FOLDER_NAME else name[:MAX_FOLDER_NAME] + shortened(name)
        return None

    def add(self, entry: Entry) -> Iterator[Entry]:
        """Yield an entry of the folder, with the folder's name, or let it wait for the name.

        If too many entries wait, yield them without the name.
        """
        self.is_empty = False
        name = self.name
        if name is not None:
            yield _inside(name, entry)
            return
        self.waiting.append(entry)
        if len(self.waiting) > MAX_WAITING:
            yield from self.waiting
            self.waiting.clear()
            self.is_nameless = True
            reason = _("The folder of this bookmark and others is unknown, because too many come before its name.")
            yield (), InvalidRecord(entry[1].line, reason)

    def end(self, number: int) -> Iterator[Entry]:
        """Yield the entries that waited for the name, or the folder itself if it is empty."""
        name = self.name or ""
        for entry in self.waiting:
            yield _inside(name, entry)
        if self.is_empty and name and self.root is None and "root" not in self.values:
            yield (name,), CollectionRecord(number, None)


def _inside(name: str, entry: Entry) -> Entry:
    folders, record = entry
    return ((name, *folders) if name else folders), record
