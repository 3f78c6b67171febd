"""Bookmarks as a Netscape bookmark file, which every browser and bookmark service exports.

It is invalid HTML: closing tags are missing, a heading names a folder, and the list after it has the folder's contents.
https://learn.microsoft.com/en-us/previous-versions/windows/internet-explorer/ie-developer/platform-apis/aa753582(v=vs.85)
"""

import codecs
import re
from collections.abc import Iterable, Iterator
from html import escape
from typing import BinaryIO

from bookmarks.models import Bookmark, Collection

from . import references
from .netscape_parser import NetscapeParser
from .records import FileRecord, format_timestamp

CHUNK_SIZE = 64 * 1024

CHARSET = re.compile(rb"""charset\s*=\s*["']?([\w-]+)""", re.IGNORECASE)

HEADER = """<!DOCTYPE NETSCAPE-Bookmark-file-1>
<META HTTP-EQUIV="Content-Type" CONTENT="text/html; charset=UTF-8">
<TITLE>Bookmarks</TITLE>
<H1>Bookmarks</H1>
<DL><p>
"""


def read(file: BinaryIO, encoding: str | None = None) -> Iterator[FileRecord]:
    """Yield a record for each link. Its collection is the path of its folders, separated by FOLDER_SEPARATOR."""
    parser = NetscapeParser()
    chunk = file.read(CHUNK_SIZE)
    encoding = _encoding(chunk[:1024])
    # Invalid UTF-8 is rejected later, with its line number. Invalid bytes in other encodings are replaced.
    errors = "surrogateescape" if encoding == "utf-8-sig" else "replace"
    decoder = codecs.getincrementaldecoder(encoding)(errors=errors)
    while chunk:
        parser.feed_chunk(decoder.decode(chunk).replace("&", references.AMPERSAND))
        yield from parser.pop_records()
        chunk = file.read(CHUNK_SIZE)
    parser.feed(decoder.decode(b"", final=True).replace("&", references.AMPERSAND))
    parser.close()
    yield from parser.pop_records()


def _encoding(beginning: bytes) -> str:
    """Return the encoding by the byte order mark or the META tag, as browsers interpret it. The default is UTF-8."""
    if beginning.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    if not beginning.startswith(codecs.BOM_UTF8) and (charset := CHARSET.search(beginning)):
        try:
            name = codecs.lookup(charset[1].decode()).name
        except LookupError:
            name = "utf-8"
        if name in ("iso8859-1", "ascii"):
            return "cp1252"
        # The META tag was read as ASCII, so the file is not in UTF-16 or UTF-32, whatever it says.
        if not name.startswith("utf-"):
            return name
    return "utf-8-sig"


def write(bookmarks: Iterable[Bookmark | Collection]) -> Iterator[str]:
    """Yield the file's text. The bookmarks must be ordered by collection."""
    yield HEADER
    folder = None
    for bookmark in bookmarks:
        if isinstance(bookmark, Collection):
            continue
        if bookmark.collection != folder:
            yield "    </DL><p>\n" if folder else ""
            folder = bookmark.collection
            yield f"    <DT><H3>{escape(folder.name)}</H3>\n    <DL><p>\n" if folder else ""
        # Browsers read ADD_DATE, in whole seconds. CREATED_AT keeps the fraction for an import into this service.
        date = f'ADD_DATE="{int(bookmark.created_at.timestamp())}" CREATED_AT="{format_timestamp(bookmark.created_at)}"'
        yield f'    <DT><A HREF="{escape(bookmark.url)}" {date}>{escape(bookmark.title)}</A>\n'
    yield "    </DL><p>\n" if folder else ""
    yield "</DL><p>\n"
