"""The Netscape bookmark file, which every browser and bookmark service exports.

It is HTML that no validator accepts: closing tags are left out, headings stand for folders and lists for what is in
them. So it is read as a browser's tokenizer reads it, tag by tag, and no tree is built, which also keeps the memory
constant. https://learn.microsoft.com/en-us/previous-versions/windows/internet-explorer/ie-developer/platform-apis/aa753582(v=vs.85)
"""

import codecs
import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from html import escape
from html.parser import HTMLParser
from typing import BinaryIO

from bookmarks.models import Bookmark

from . import references
from .records import Record, Unreadable, timestamp

CHUNK_SIZE = 64 * 1024
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
FOLDER_SEPARATOR = " / "
MAX_TAG = 256 * 1024  # characters; it may have an icon in it
MAX_PATH = 1000  # characters of the names of nested folders, of which a collection's name takes 255

CHARSET = re.compile(rb"""charset\s*=\s*["']?([\w-]+)""", re.IGNORECASE)

ENDS_A_TITLE = {"a", "dl", "dt", "h3"}

HEADER = """<!DOCTYPE NETSCAPE-Bookmark-file-1>
<META HTTP-EQUIV="Content-Type" CONTENT="text/html; charset=UTF-8">
<TITLE>Bookmarks</TITLE>
<H1>Bookmarks</H1>
<DL><p>
"""


def read(file: BinaryIO) -> Iterator[Record | Unreadable]:
    """Yield what the file links to. A folder is a collection; one in another has both names."""
    parser = _Parser()
    chunk = file.read(CHUNK_SIZE)
    encoding = _encoding(chunk[:1024])
    # What is not UTF-8 is refused with its line; elsewhere a browser puts a question mark, and so do we.
    errors = "surrogateescape" if encoding == "utf-8-sig" else "replace"
    decoder = codecs.getincrementaldecoder(encoding)(errors=errors)
    while chunk:
        parser.feed(decoder.decode(chunk).replace("&", references.AMPERSAND))
        yield from parser.take()
        chunk = file.read(CHUNK_SIZE)
    parser.feed(decoder.decode(b"", final=True).replace("&", references.AMPERSAND))
    parser.close()
    yield from parser.take()


def _encoding(beginning: bytes) -> str:
    """Return what the byte order mark or the META tag says, as browsers understand it; without either, UTF-8."""
    if beginning.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    if not beginning.startswith(codecs.BOM_UTF8) and (named := CHARSET.search(beginning)):
        try:
            name = codecs.lookup(named[1].decode()).name
        except LookupError:
            name = "utf-8"
        if name in ("iso8859-1", "ascii"):
            return "cp1252"
        if not name.startswith("utf-"):  # in which a META tag of one byte a letter could not be written
            return name
    return "utf-8-sig"


class _Parser(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.records: list[Record | Unreadable] = []
        self.folders: list[str] = []
        """The path of each list that is open."""
        self.heading = ""
        self.text: list[str] | None = None
        self.link: Record | None = None

    def take(self) -> list[Record | Unreadable]:
        """Return the records since the last call."""
        if len(self.rawdata) > MAX_TAG:
            self.records.append(Unreadable(self.getpos()[0], f"A tag is longer than {MAX_TAG} characters."))
            self.rawdata = ""
        records, self.records = self.records, []
        return records

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in ENDS_A_TITLE:
            self.end_link()
        values = {name: references.attribute(value or "") for name, value in attrs}
        if tag == "dl":
            path = FOLDER_SEPARATOR.join(filter(None, [*self.folders[-1:], self.heading]))
            self.folders.append(path[:MAX_PATH])
            self.heading = ""
        elif tag == "h3":
            self.text = []
        elif tag == "a" and "href" in values:
            self.text = []
            collection = (self.folders or [""])[-1] or None
            created_at = values.get("created_at") or _date(values.get("add_date", ""))
            self.link = Record(self.getpos()[0], values["href"].strip(), "", collection, created_at)

    def handle_data(self, data: str) -> None:
        if self.text is not None:
            self.text.append(data)

    def handle_endtag(self, tag: str) -> None:
        if tag == "a":
            self.end_link(closed=True)
        elif tag in ENDS_A_TITLE:
            self.end_link()
        if tag == "h3" and self.text is not None:
            self.heading = references.text("".join(self.text))
            self.text = None
        elif tag == "dl" and self.folders:
            self.folders.pop()

    def parse_marked_section(self, i: int, report: int = 1) -> int:
        """Skip ``<![...]>`` as browsers do. Python's own parser raises AssertionError for some of them."""
        return self.parse_bogus_comment(i, bool(report))

    def close(self) -> None:
        # An unfinished tag. Python's own parser would parse it again from each "<" in it, in quadratic time.
        self.rawdata = ""
        super().close()
        self.end_link()

    def end_link(self, closed: bool = False) -> None:
        if self.link is not None:
            title = references.text("".join(self.text or []))
            self.records.append(self.link._replace(title=title if closed else title.strip()))
            self.link = self.text = None


def _date(text: str) -> datetime | None:
    """Seconds since 1970, or what some exporters write: milliseconds or microseconds."""
    if not (text.isascii() and text.isdecimal() and len(text) <= 16):
        return None
    number = int(text)
    return EPOCH + timedelta(microseconds=number * (1_000_000 if number < 10**11 else 1000 if number < 10**14 else 1))


def write(bookmarks: Iterable[Bookmark]) -> Iterator[str]:
    """Yield the file's text. ``bookmarks`` come collection by collection."""
    yield HEADER
    folder = None
    for bookmark in bookmarks:
        if bookmark.collection != folder:
            yield "    </DL><p>\n" if folder else ""
            folder = bookmark.collection
            yield f"    <DT><H3>{escape(folder.name)}</H3>\n    <DL><p>\n" if folder else ""
        # Browsers know ADD_DATE, in whole seconds; the other has what it would lose.
        date = f'ADD_DATE="{int(bookmark.created_at.timestamp())}" CREATED_AT="{timestamp(bookmark.created_at)}"'
        yield f'    <DT><A HREF="{escape(bookmark.url)}" {date}>{escape(bookmark.title)}</A>\n'
    yield "    </DL><p>\n" if folder else ""
    yield "</DL><p>\n"
