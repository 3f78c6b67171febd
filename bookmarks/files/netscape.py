"""Bookmarks as a Netscape bookmark file, which every browser and bookmark service exports.

It is invalid HTML: closing tags are missing, a heading names a folder, and the list after it has the folder's contents.
Therefore it is read tag by tag, like a browser's tokenizer does, without building a tree. This also keeps the memory
constant. https://learn.microsoft.com/en-us/previous-versions/windows/internet-explorer/ie-developer/platform-apis/aa753582(v=vs.85)
"""

import codecs
import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from html import escape
from html.parser import HTMLParser
from typing import BinaryIO

from django.utils.translation import gettext as _

from bookmarks.models import Bookmark

from . import references
from .records import InvalidRecord, Record, format_timestamp

CHUNK_SIZE = 64 * 1024
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
FOLDER_SEPARATOR = " / "
MAX_TAG_LENGTH = 256 * 1024  # characters; a tag may contain an icon
MAX_PATH_LENGTH = 1000  # characters; a longer path is truncated; it is not a valid collection name anyway

CHARSET = re.compile(rb"""charset\s*=\s*["']?([\w-]+)""", re.IGNORECASE)

TAGS_THAT_END_A_LINK = {"a", "dl", "dt", "h3"}

HEADER = """<!DOCTYPE NETSCAPE-Bookmark-file-1>
<META HTTP-EQUIV="Content-Type" CONTENT="text/html; charset=UTF-8">
<TITLE>Bookmarks</TITLE>
<H1>Bookmarks</H1>
<DL><p>
"""


def read(file: BinaryIO) -> Iterator[Record | InvalidRecord]:
    """Yield a record for each link. Its collection is the path of its folders, separated by FOLDER_SEPARATOR."""
    parser = _Parser()
    chunk = file.read(CHUNK_SIZE)
    encoding = _encoding(chunk[:1024])
    # Invalid UTF-8 is rejected later, with its line number. Invalid bytes in other encodings are replaced.
    errors = "surrogateescape" if encoding == "utf-8-sig" else "replace"
    decoder = codecs.getincrementaldecoder(encoding)(errors=errors)
    while chunk:
        parser.feed(decoder.decode(chunk).replace("&", references.AMPERSAND))
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


class _Parser(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.records: list[Record | InvalidRecord] = []
        self.folders: list[str] = []
        """The path of each open folder."""
        self.heading = ""
        """The name of the folder that the next list opens."""
        self.text: list[str] | None = None
        """The text of the open link or heading so far."""
        self.link: Record | None = None
        """The open link, which has no title yet."""

    def pop_records(self) -> list[Record | InvalidRecord]:
        """Return the records that were parsed since the last call."""
        if len(self.rawdata) > MAX_TAG_LENGTH:
            reason = _("A tag is longer than %(max)s characters.") % {"max": MAX_TAG_LENGTH}
            self.records.append(InvalidRecord(self.getpos()[0], reason))
            self.rawdata = ""
        records, self.records = self.records, []
        return records

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in TAGS_THAT_END_A_LINK:
            self.end_link()
        values = {name: references.decode_attribute(value or "") for name, value in attrs}
        if tag == "dl":
            parent = self.folders[-1] if self.folders else ""
            path = FOLDER_SEPARATOR.join(filter(None, [parent, self.heading]))[:MAX_PATH_LENGTH]
            self.folders.append(parent if path == parent else path)  # a million levels share one string
            self.heading = ""
        elif tag == "h3":
            self.text = []
        elif tag == "a" and "href" in values:
            self.text = []
            collection = (self.folders or [""])[-1] or None
            created_at = values.get("created_at") or _parse_date(values.get("add_date", ""))
            self.link = Record(self.getpos()[0], values["href"].strip(), "", collection, created_at)

    def handle_data(self, data: str) -> None:
        if self.text is not None:
            self.text.append(data)

    def handle_endtag(self, tag: str) -> None:
        if tag == "a":
            self.end_link(closed=True)
        elif tag in TAGS_THAT_END_A_LINK:
            self.end_link()
        if tag == "h3" and self.text is not None:
            self.heading = references.decode_text("".join(self.text))
            self.text = None
        elif tag == "dl" and self.folders:
            self.folders.pop()

    def parse_marked_section(self, i: int, report: int = 1) -> int:
        """Skip ``<![...]>`` as browsers do. Python's own parser raises AssertionError for some of them."""
        return self.parse_bogus_comment(i, bool(report))

    def close(self) -> None:
        # Discard an unfinished tag, which Python's parser would parse again from each "<" in quadratic time.
        self.rawdata = ""
        super().close()
        self.end_link()

    def end_link(self, closed: bool = False) -> None:
        if self.link is not None:
            title = references.decode_text("".join(self.text or []))
            self.records.append(self.link._replace(title=title if closed else title.strip()))
            self.link = self.text = None


def _parse_date(text: str) -> datetime | None:
    """Parse seconds since 1970, or milliseconds or microseconds, which some exporters write; None if invalid."""
    if not (text.isascii() and text.isdecimal() and len(text) <= 16):
        return None
    number = int(text)
    return EPOCH + timedelta(microseconds=number * (1_000_000 if number < 10**11 else 1000 if number < 10**14 else 1))


def write(bookmarks: Iterable[Bookmark]) -> Iterator[str]:
    """Yield the file's text. The bookmarks must be ordered by collection."""
    yield HEADER
    folder = None
    for bookmark in bookmarks:
        if bookmark.collection != folder:
            yield "    </DL><p>\n" if folder else ""
            folder = bookmark.collection
            yield f"    <DT><H3>{escape(folder.name)}</H3>\n    <DL><p>\n" if folder else ""
        # Browsers read ADD_DATE, in whole seconds. CREATED_AT keeps the fraction for an import into this service.
        date = f'ADD_DATE="{int(bookmark.created_at.timestamp())}" CREATED_AT="{format_timestamp(bookmark.created_at)}"'
        yield f'    <DT><A HREF="{escape(bookmark.url)}" {date}>{escape(bookmark.title)}</A>\n'
    yield "    </DL><p>\n" if folder else ""
    yield "</DL><p>\n"
