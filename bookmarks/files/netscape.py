"""Bookmarks as a Netscape bookmark file, which every browser and bookmark service exports.

It is invalid HTML: closing tags are missing, a heading names a folder, and the list after it has the folder's contents.
https://learn.microsoft.com/en-us/previous-versions/windows/internet-explorer/ie-developer/platform-apis/aa753582(v=vs.85)
"""

from collections.abc import Iterable, Iterator
from html import escape
from itertools import takewhile
from typing import BinaryIO

from bookmarks.models import Bookmark, Collection

from .collection_names import split
from .encodings import open_text
from .html_encoding import declared_encoding
from .netscape_parser import NetscapeParser
from .records import Records, format_timestamp

CHUNK_SIZE = 64 * 1024

HEADER = """<!DOCTYPE NETSCAPE-Bookmark-file-1>
<META HTTP-EQUIV="Content-Type" CONTENT="text/html; charset=UTF-8">
<TITLE>Bookmarks</TITLE>
<H1>Bookmarks</H1>
<DL><p>
"""


def read(file: BinaryIO, encoding: str | None = None) -> Records:
    """Yield a record for each link, and one for each folder with neither links nor folders.

    The collection of a link is the path of its folders.
    """
    parser = NetscapeParser()
    text = open_text(file, encoding, declared_encoding)
    text.reconfigure(newline=None)  # Browsers replace CR and CR LF by LF.
    while chunk := text.read(CHUNK_SIZE):
        parser.feed(chunk)
        records = parser.pop_records()
        yield from records
        if not records and len(chunk) == CHUNK_SIZE:
            yield None
    parser.close()
    yield from parser.pop_records(is_final=True)


def write(items: Iterable[Bookmark | Collection]) -> Iterator[str]:
    """Yield the file's text. The bookmarks must be ordered by collection. A collection stands for an empty one."""
    yield HEADER
    folders: list[str] = []
    last = None
    for item in items:
        collection = item if isinstance(item, Collection) else item.collection
        if collection != last:
            last = collection
            headings = _headings(collection.name) if collection else []
            if item is collection:
                # It needs a folder of its own, even if a folder with its name is open for the folders inside.
                yield from _move(folders, headings[:-1])
                yield from _move(headings[:-1], headings)
                yield from _move(headings, headings[:-1])
                folders = headings[:-1]
            else:
                yield from _move(folders, headings)
                folders = headings
        if isinstance(item, Bookmark):
            yield f"{_indent(folders)}{_link(item)}\n"
    yield from _move(folders, [])
    yield "</DL><p>\n"


def _move(folders: list[str], others: list[str]) -> Iterator[str]:
    """Yield the lines that close and open folders, from one path of headings to another."""
    shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(folders, others, strict=False)))
    for depth in range(len(folders), shared, -1):
        yield f"{_indent(folders[: depth - 1])}</DL><p>\n"
    for depth in range(shared, len(others)):
        yield f"{_indent(others[:depth])}<DT>{others[depth]}\n{_indent(others[:depth])}<DL><p>\n"


def _indent(folders: list[str]) -> str:
    return "    " * (len(folders) + 1)


def _headings(name: str) -> list[str]:
    """Return the headings of the folders that stand for a collection, outermost first."""
    if folders := split(name):
        return [f"<H3>{_escape(folder)}</H3>" for folder in folders]
    return [f'<H3 COLLECTION="{_escape(name)}">{_escape(name)}</H3>']


def _link(bookmark: Bookmark) -> str:
    # Browsers read ADD_DATE, in whole seconds. CREATED_AT keeps the fraction for an import into this service.
    date = f'ADD_DATE="{int(bookmark.created_at.timestamp())}" CREATED_AT="{format_timestamp(bookmark.created_at)}"'
    return f'<DT><A HREF="{_escape(bookmark.url)}" {date}>{_escape(bookmark.title)}</A>'


def _escape(text: str) -> str:
    return escape(text).replace("\r", "&#13;")
