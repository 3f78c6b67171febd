"""The objects in JSON files: bookmarks, folders, and what contains lists of them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from bookmarks import web_url

from .columns import NAMES, NESTED
from .json_folders import JsonFolder, folder_name, root_name
from .report import MAX_NAME_LENGTH, OTHER_NAMES

LISTS = frozenset(
    {"bookmarks", "children", "collections", "data", "entries", "folders", "items", "links", "results", "roots"}
)
"""Keys of lists of bookmarks and folders, and of objects that contain such lists."""

FOLDER_TYPES = ("folder", "text/x-moz-place-container")
SEPARATOR = "text/x-moz-place-separator"

URLS = frozenset(NAMES["url"])
FIELD_NAMES = frozenset({"description", "guid", "root", "type", NESTED}.union(*NAMES.values()))
"""The names of the values that are needed."""

NO_PARTS: Iterator[tuple[Any, ...]] = iter(())

MAX_KEYS = 100  # of an object; the values of further ones are not kept
MAX_TEXT = web_url.MAX_LENGTH + 1  # characters of the values of an object with lists


@dataclass(slots=True)
class JsonObject:
    """An object that is being read."""

    values: dict[str, Any] = field(default_factory=dict)
    is_element: bool = True
    """Whether it is in an array, so that it is a bookmark or a folder."""
    has_url: bool = False
    has_list: bool = False
    """Whether one of its LISTS has been read."""
    has_children: bool = False
    is_open: bool = False
    """Whether a list in it has been read."""
    folder: JsonFolder | None = None
    """The folder that contains its lists, if it is one itself."""
    unread: dict[str, bool] = field(default_factory=dict)
    """The keys of arrays and objects that are not read, with whether there are URLs in them."""

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Self:
        """Return an object with values of which no LISTS contain anything."""
        flat = cls()
        for key, value in values.items():
            flat.keep(key, value)
            if isinstance(value, dict) and key != NESTED and not URLS.isdisjoint(value):
                flat.leave(key, has_url=True)
            flat.has_children = flat.has_children or key == "children"
            flat.has_list = flat.has_list or (key in LISTS and value == [])
        nested = values.get(NESTED)
        flat.has_url = flat.has_url or (isinstance(nested, dict) and bool(nested.get("url")))
        return flat

    def keep(self, key: str, value: Any) -> None:
        name = key[: MAX_NAME_LENGTH + 1]
        is_field = name.casefold() in FIELD_NAMES
        if self.is_open:
            value = _short(value, is_field)
        self.values[name if is_field or len(self.values) < MAX_KEYS else OTHER_NAMES] = value
        self.has_url = self.has_url or (bool(value) and name.casefold() in URLS)

    def leave(self, key: str, has_url: bool = False) -> None:
        """Note that an array or object, or a part of it, is not read."""
        name = key[:MAX_NAME_LENGTH] if len(self.unread) < MAX_KEYS else OTHER_NAMES
        self.unread[name] = has_url or self.unread.get(name, False)
        self.keep(key, True)

    def looks_through(self, key: str) -> bool:
        """Return whether there may be bookmarks in the array or object with this key."""
        if key == "children":
            return True
        if self.is_element:
            return key in LISTS and not self.has_url
        return key in LISTS or not (self.has_list or self.has_url)

    def start_list(self, key: str) -> None:
        """Note that the array or object with this key is looked through."""
        if not self.is_open:
            self.is_open = True
            # Limit the memory of the objects around a bookmark, which may be many.
            self.values = {name: _short(value, name.casefold() in FIELD_NAMES) for name, value in self.values.items()}
        self.has_children = self.has_children or key == "children"
        self.has_list = self.has_list or key in LISTS

    @property
    def is_folder(self) -> bool:
        return (
            self.has_children
            or self.values.get("type") in FOLDER_TYPES
            or (self.is_element and self.has_list and bool(folder_name(self.values)))
        )

    @property
    def hides_url(self) -> bool:
        """Whether there are URLs in it, if no bookmarks were found in it."""
        return self.has_url or any(self.unread.values())

    @property
    def is_separator(self) -> bool:
        return self.values.get("type") == SEPARATOR

    @property
    def is_root(self) -> bool:
        """Whether a browser has the folder from the start."""
        return root_name(self.values) is not None or "root" in self.values

    @property
    def says_nothing(self) -> bool:
        """Whether it is neither a folder nor has lists, so that it is a bookmark without a URL, if anything."""
        return not (self.is_folder or self.has_list or (self.unread and not self.is_element))


@dataclass(slots=True)
class Level:
    """An array or object in which the reader looks for bookmarks."""

    folder: JsonFolder
    """The folder around it."""
    key: str = ""
    """Its key, or that of the array around it."""
    owner: JsonObject | None = None
    """The object that has the key."""
    is_list: bool = True
    """Whether what it contains should be bookmarks and folders."""
    current: JsonObject | None = None
    """The object, or None for an array."""
    parts: Iterator[tuple[Any, ...]] = NO_PARTS
    """What has not been read of it."""
    has_parts: bool = False
    found: int = 0
    """The number of bookmarks and folders before it."""


def _short(value: Any, is_field: bool) -> Any:
    if isinstance(value, str):
        return value[:MAX_TEXT] if is_field else value[:MAX_NAME_LENGTH]
    return value
