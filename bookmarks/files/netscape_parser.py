"""The parser of Netscape bookmark files.

It reads tag by tag, like a browser's tokenizer does, without building a tree. This also keeps the memory constant.
"""

import re
from datetime import UTC, datetime, timedelta
from html.parser import HTMLParser

from django.utils.translation import gettext as _

from . import references
from .records import FileRecord, InvalidRecord, Record

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
FOLDER_SEPARATOR = " / "
MAX_TAG_LENGTH = 256 * 1024  # characters; a tag may contain an icon
MAX_PATH_LENGTH = 1000  # characters; a longer path is truncated; it is not a valid collection name anyway

LINE_OF_LINK = re.compile(
    r"""[ \t]*<DT><A((?: HREF="[^"<>\n]*")(?: [A-Z_]+="[^"<>\n]*")*)>([^<\n]*)</A>\r?\n""", re.ASCII | re.IGNORECASE
)
ATTRIBUTE = re.compile(r"""([A-Z_]+)="([^"]*)\"""", re.ASCII | re.IGNORECASE)

TAGS_THAT_END_A_LINK = {"a", "dl", "dt", "h3"}


class NetscapeParser(HTMLParser):
    """Collects the links as records.

    A regular expression reads the lines that consist of one link, as most do, and Python's parser reads the others. The
    expression is faster, and matches only lines that Python's parser reads in the same way.
    """

    def __init__(self) -> None:
        super().__init__()
        self.lines_of_links = 0
        """The number of lines that Python's parser has not read."""
        self.records: list[FileRecord] = []
        self.folders: list[str] = []
        """The path of each open folder."""
        self.heading = ""
        """The name of the folder that the next list opens."""
        self.text: list[str] | None = None
        """The text of the open link or heading so far."""
        self.link: Record | None = None
        """The open link, which has no title yet."""

    def pop_records(self) -> list[FileRecord]:
        """Return the records that were parsed since the last call."""
        if len(self.rawdata) > MAX_TAG_LENGTH:
            reason = _("A tag is longer than %(max)s characters.") % {"max": MAX_TAG_LENGTH}
            self.records.append(InvalidRecord(self.line, reason))
            self.rawdata = ""
        records, self.records = self.records, []
        return records

    def feed_chunk(self, text: str) -> None:
        position = 0
        if not self.is_between_tags:
            position = self.feed_line(text, 0)  # the rest of the line on which the last chunk ended
        while position < len(text) and self.is_between_tags:
            if link := LINE_OF_LINK.match(text, position):
                self.add_link(*link.groups())
                position = link.end()
            else:
                position = self.feed_line(text, position)
        # The tag that is still open goes on for several lines. Feed all of them at once, because feed() begins anew at
        # the tag each time.
        self.feed(text[position:])

    def feed_line(self, text: str, start: int) -> int:
        """Feed the line that begins at ``start`` and return where the next one begins."""
        end = text.find("\n", start) + 1 or len(text)
        self.feed(text[start:end])
        return end

    @property
    def is_between_tags(self) -> bool:
        """Whether the text so far ends outside of tags, comments, scripts, headings and links."""
        return not self.rawdata and self.cdata_elem is None and self.text is None

    def add_link(self, attributes: str, title: str) -> None:
        """Add the link of a line that Python's parser does not read."""
        values = {name.lower(): references.decode_attribute(value) for name, value in ATTRIBUTE.findall(attributes)}
        self.records.append(self.link_record(values, references.decode_text(title)))
        self.lines_of_links += 1

    def link_record(self, values: dict[str, str], title: str = "") -> Record:
        """Return the record of a link with these attributes at the current position."""
        collection = (self.folders or [""])[-1] or None
        created_at = values.get("created_at") or _parse_date(values.get("add_date", ""))
        return Record(self.line, values["href"].strip(), title, collection, created_at)

    @property
    def line(self) -> int:
        return self.lines_of_links + self.getpos()[0]

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
            self.link = self.link_record(values)

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
