"""Recognize folders and lists of bookmarks in the JSON files of programs."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from .fields import as_text
from .folder_paths import join_paths, path_in_folder
from .programs import (
    BROWSER_FOLDERS,
    FOLDER_TYPES,
    KARAKEEP_CONTENT,
    KARAKEEP_LISTS,
    NAMES,
    PARENT_ID,
    TEXT_KEYS,
)
from .records import JsonValue, Record

# Keys of arrays in which everything should be a bookmark or a folder. All keys
# are normalized.
LIST_KEYS = frozenset(
    {
        "bookmarks",
        "children",
        "collections",
        "data",
        "entries",
        "folders",
        "items",
        "links",
        "results",
        "roots",
    }
)

# Keys whose values the reader needs.
NEEDED_KEYS = LIST_KEYS.union(
    {
        KARAKEEP_CONTENT,
        KARAKEEP_LISTS,
        "guid",
        "id",
        PARENT_ID,
        "root",
        "type",
    },
    TEXT_KEYS,
    *NAMES.values(),
)

# Keys of objects that are values of the bookmark around them.
OBJECT_KEYS = {KARAKEEP_CONTENT, *NAMES["collection"]}

# Keys of a bookmark's URL, or of the object that contains it.
URL_KEYS = {KARAKEEP_CONTENT, *NAMES["url"]}

# In which a bookmark is, because it becomes a bookmark in each of them.
MAX_LISTS = 10

# Of folders that name the folder around them by its id. Python's stack is as
# deep.
MAX_LEVELS = 250


def has_list(values: Mapping[str, JsonValue]) -> bool:
    """Return whether an object with these values has a list of bookmarks, or
    is an empty folder.
    """
    return values.get("type") in FOLDER_TYPES or not LIST_KEYS.isdisjoint(values)


def root_of(values: Mapping[str, JsonValue]) -> str:
    """Return the key in BROWSER_FOLDERS of the folder that has these values, or another
    text.
    """
    return str(values.get("root", values.get("guid")))


def folder_name(values: Mapping[str, JsonValue]) -> str:
    """Return the name of the folder that has these values, or an empty
    string.
    """
    # A folder that a browser has from the start may have any title.
    root = root_of(values)
    if root in BROWSER_FOLDERS:
        return BROWSER_FOLDERS[root]
    for key in ("title", "name"):
        name = as_text(values.get(key))
        if name is not None:
            return name
    return ""


class Folder(NamedTuple):
    """A folder of a file, with the id of the folder around it, if any."""

    name: str
    parent_id: str


class Folders:
    """The folders of a file, by their numbers and by their ids.

    In some files, a folder is not inside the folder around it, but names its
    id.
    """

    def __init__(self) -> None:
        self.by_number: dict[int, Folder] = {}
        self.by_id: dict[str, Folder] = {}
        # The paths that have been looked up, by id, so that each folder is
        # looked at once.
        self.paths: dict[str, str] = {}

    def add(self, number: int, values: Mapping[str, JsonValue]) -> None:
        """Add the folder that has these values, if it has a name."""
        name = path_in_folder("", folder_name(values))
        if not name:
            return
        folder = Folder(name, str(values.get(PARENT_ID, "")))
        self.by_number[number] = folder
        if "id" in values:
            self.by_id[str(values["id"])] = folder

    def collection(self, number: int, around: str) -> str:
        """Return the name of the collection for the contents of an object.

        ``around`` is that of the object around it.
        """
        if number not in self.by_number:
            return around
        folder = self.by_number[number]
        return join_paths(self.path(folder.parent_id) or around, folder.name)

    def copies(self, record: Record, ids: Sequence[JsonValue]) -> Iterator[Record]:
        """Yield the record in each of the folders with these ids, or as it is if
        all of them are unknown.
        """
        paths = dict.fromkeys(map(self.path, ids[:MAX_LISTS]))
        paths.pop("", None)
        for path in paths or [record.collection]:
            yield record._replace(collection=path)

    def path(self, folder_id: JsonValue, level: int = 0) -> str:
        """Return the path of the folder with this id, or an empty string.

        Where folders refer to one another in a circle, the path begins with
        any of them. ``level`` is the number of folders inside this one whose
        paths are being looked up.
        """
        key = str(folder_id)
        if key not in self.by_id or level == MAX_LEVELS:
            return ""
        if key not in self.paths:
            # A circle ends at a folder whose path is being looked up.
            self.paths[key] = ""
            folder = self.by_id[key]
            around = self.path(folder.parent_id, level + 1)
            self.paths[key] = join_paths(around, folder.name)
        return self.paths[key]
