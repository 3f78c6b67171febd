"""The folders of an HTML file."""

from collections.abc import Iterator
from typing import NamedTuple

from .records import CollectionRecord

LISTS = {"dl": "dl", "ul": "ul", "ol": "ul"}
"""The tags of lists, each with its kind."""

MAX_DEPTH = 1000  # lists; the folders of deeper ones count as the last of these, so that they take no memory


class Folder(NamedTuple):
    line: int
    """The number of the line of its heading."""
    name: str
    """The name of the collection."""
    is_title: bool
    """Whether the heading is that of the file, unless a ``UL`` or ``OL`` follows."""


class OpenFolders:
    """The folders that are open where a file is being read.

    A heading names the folder whose contents the following list has. Lists of another kind than the outermost are parts
    of descriptions.
    """

    def __init__(self) -> None:
        self.names: list[str] = []
        """The collection's name for each of the outermost open lists."""
        self.deeper = 0
        """The number of the other open lists."""
        self.kind = ""
        """The kind of the outermost list."""
        self.is_empty = False
        """Whether nothing has been read in the innermost list."""
        self.next: Folder | None = None
        """The folder whose contents the next list has."""

    @property
    def current(self) -> str:
        """The name of the collection for links, or an empty string."""
        return self.names[-1] if self.names else ""

    def start_list(self, kind: str) -> bool:
        """Return whether this list is a folder's, and not part of a description."""
        if not self.names:
            self.kind = kind
        if kind != self.kind:
            return False
        if len(self.names) == MAX_DEPTH:
            self.deeper += 1
        elif self.next and not (self.next.is_title and kind == "dl"):
            self.names.append(self.next.name)
        else:
            self.names.append(self.current)
        self.next, self.is_empty = None, True
        return True

    def end_list(self, line: int) -> Iterator[CollectionRecord]:
        """Yield the collections of folders that turn out to be empty."""
        yield from self.end_heading()
        name = self.current
        if self.deeper:
            self.deeper -= 1
        else:
            self.names.pop()
        if self.is_empty and name:
            yield CollectionRecord(line, name)
        self.is_empty = False

    def end_heading(self) -> Iterator[CollectionRecord]:
        """Yield the collection of a heading that no list has followed."""
        if self.next is not None and self.names and not self.next.is_title:
            yield CollectionRecord(self.next.line, self.next.name)
            self.is_empty = False
        self.next = None
