"""Recognize folders and lists of bookmarks in the JSON files of programs."""

from collections.abc import Mapping
from typing import Any

from .field_names import NAMES, NESTED, PINBOARD_TITLE

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
        "media",  # Raindrop
        "pinnedLinks",  # Linkwarden
        "rssSubscriptions",  # Linkwarden
    }
)

# Keys whose values the reader needs, in lower case.
NEEDED_KEYS = LIST_KEYS.union(
    {PINBOARD_TITLE, NESTED, "guid", "root", "type"}, *NAMES.values()
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


def folder_name(values: Mapping[str, Any]) -> str | None:
    """Return the name of the folder that has these values.

    Return None if the name is not among them. The value True stands for an
    array or object, which is no name.
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
    return None
