"""Recognize folders and lists of bookmarks in the JSON files of programs."""

from collections.abc import Mapping
from functools import reduce
from typing import Any

from .collection_names import join_path
from .field_names import ANNOTATIONS, NAMES, NESTED, TEXT_KEYS

# Keys of arrays in which everything should be a bookmark or a folder.
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

# Keys under which objects with URLs are not bookmarks.
NOT_BOOKMARKS = frozenset(
    {
        "annotations",  # wallabag
        "highlights",
        "media",  # Raindrop
        "pinnedLinks",  # Linkwarden
        "rssSubscriptions",  # Linkwarden
    }
)

# Keys whose values the reader needs, normalized.
NEEDED_KEYS = LIST_KEYS.union(
    {NESTED, "guid", "id", "parentid", "root", "type", "value"},
    TEXT_KEYS,
    *NAMES.values(),
)

# Keys of objects that are values of the bookmark around them.
OBJECT_KEYS = {NESTED, *NAMES["collection"]}

# Values of "type". Those with "moz" are Firefox's.
FOLDER_TYPES = ("folder", "text/x-moz-place-container")
SEPARATOR_TYPE = "text/x-moz-place-separator"

# The "guid" of the folder in which Firefox repeats the bookmarks of each tag.
TAGS_FOLDER = "tags________"

# The folders that a browser has from the start. Firefox identifies them by
# "guid", and Chrome by their keys in "roots".
#
# The names are those in the HTML files that the browser exports. A name is
# empty if the folder's bookmarks are at the top level there.
ROOTS = {
    "root________": "",
    "menu________": "",
    "toolbar_____": "Bookmarks Toolbar",
    "unfiled_____": "Other Bookmarks",
    "mobile______": "Mobile Bookmarks",
    TAGS_FOLDER: "",
    "other": "",
    "synced": "",
}


# The key of Karakeep's lists of bookmarks, and of the ids of its lists in a
# bookmark.
LISTS = "lists"

# Keys of arrays that are values of the object around them, normalized.
ARRAY_KEYS = {LISTS, ANNOTATIONS, *NAMES["tags"], *NAMES["note"]}

# Of folders around a folder that are found by their ids, which might form a
# cycle.
MAX_LEVELS = 100


def folder_name(values: Mapping[str, Any]) -> str:
    """Return the name of the folder that has these values, or an empty string.

    The value True stands for an array or object, which is no name.
    """
    # A folder that a browser has from the start may have any title.
    for key in ("guid", "root"):
        identifier = values.get(key)
        if identifier in ROOTS:
            return ROOTS[identifier]
    for key in ("title", "name"):
        name = values.get(key, True)
        if name is not True:
            return str(name or "")
    return ""


class Folders:
    """The folders of a file, by their numbers and by their ids.

    In some files, a folder is not inside the folder around it, but names its
    id as ``parentId``.
    """

    def __init__(self) -> None:
        # The names of the folders, and the ids of the folders around them.
        self.by_number: dict[int, tuple[str, Any]] = {}
        self.by_id: dict[Any, tuple[str, Any]] = {}

    def add(self, number: int, values: Mapping[str, Any]) -> None:
        """Add the folder that has these values, if it has a name."""
        name = folder_name(values)
        if not name:
            return
        folder = name, values.get("parentId")
        self.by_number[number] = folder
        if values.get("id") is not None:
            self.by_id[values["id"]] = folder

    def collection(self, number: int, around: str) -> str:
        """Return the name of the collection for the contents of an object.

        ``around`` is that of the object around it.
        """
        if number not in self.by_number:
            return around
        name, parent_id = self.by_number[number]
        return join_path(self.path(parent_id) or around, name)

    def path(self, folder_id: Any) -> str:
        """Return the path of the folder with this id, or an empty string."""
        names: list[str] = []
        while folder_id in self.by_id and len(names) < MAX_LEVELS:
            name, folder_id = self.by_id[folder_id]
            names.append(name)
        return reduce(join_path, reversed(names), "")
