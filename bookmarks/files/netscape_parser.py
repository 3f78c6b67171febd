"""The parser of Netscape bookmark files, and of the lists of links that Pocket and Instapaper export."""

import re
from io import StringIO

from . import references
from .collection_names import within
from .folders import LISTS, Folder, OpenFolders
from .html_tokenizer import END_OF_CONTENT, HtmlTokenizer, attributes
from .records import FileRecord, InvalidRecord, Record, means_something

LINE_OF_LINK = re.compile(
    r"""[ \t]*<(?:DT|LI)><A((?: HREF="[^"<>\n\0]*")(?: [A-Z_]+="[^"<>\n\0]*")*)>([^<\n\0]*)</A>(?:</LI>)?\n""",
    re.ASCII | re.IGNORECASE,
)
ATTRIBUTE_OF_LINE = re.compile(r"""([A-Z_]+)="([^"]*)\"""", re.ASCII | re.IGNORECASE)

URL_WHITE_SPACE = re.compile(r"[\t\n\r]")
"""What browsers remove from URLs."""

ATTRIBUTES_OF_BOOKMARKS = {"href", "created_at", "add_date", "time_added"}

MAX_TEXT_LENGTH = 64 * 1024  # characters; the rest is too long for a title, even with a reference for each character

HEADINGS = {"h1", "h2", "h3", "h4", "h5", "h6"}
TAGS_THAT_END_TEXT = {"a", "dd", "dt", "hr", "li", *LISTS, *HEADINGS}
TAGS_WITH_RAW_TEXT = {"iframe", "noembed", "noframes", "plaintext", "script", "style", "textarea", "title", "xmp"}

SPECIAL_FOLDERS = {"personal_toolbar_folder": "Bookmarks Toolbar", "unfiled_bookmarks_folder": "Other Bookmarks"}
"""The names of Firefox's folders, for headings that are empty."""


class NetscapeParser(HtmlTokenizer):
    """Collects the links as records.

    In Netscape's format, an ``H3`` names the folder whose contents the following ``DL`` has, and the ``H1`` is the
    title of the file. If the outermost list is ``UL`` or ``OL``, an ``H1`` names a folder as well.

    A regular expression reads the lines that consist of one link, as most do. It is faster than the tokenizer, and
    matches only lines that the tokenizer reads in the same way.

    Browsers would take the rest of the file for the content of a ``<style>`` that a program has not escaped in a title.
    Here, the content of scripts and styles is skipped only before the first link, heading or list. In titles, the tags
    of elements whose content is not parsed are text.
    """

    def __init__(self) -> None:
        super().__init__()
        self.records: list[FileRecord] = []
        self.folders = OpenFolders()
        self.is_in_head = True
        self.text: StringIO | None = None
        """The text of the open link or heading so far."""
        self.link: Record | None = None
        """The open link, which has no title yet."""
        self.heading: dict[str, str] = {}
        """The name of the tag and the attributes of the open heading."""
        self.heading_line = 0
        self.is_in_description = False
        self.follows_link = False
        """Whether a description would be that of the last record."""

    def pop_records(self, is_final: bool = False) -> list[FileRecord]:
        """Return the records that were parsed since the last call, except the last one, which may get a description."""
        end = len(self.records) if is_final else -1
        records, self.records = self.records[:end], self.records[end:]
        return records

    @property
    def is_in_text(self) -> bool:
        return self.text is not None or self.is_in_description

    def read_token(self) -> bool:
        if not self.is_in_text and self.skip_until is None:
            while link := LINE_OF_LINK.match(self.buffer, self.position):
                self.add_line(link)
        return self.position < len(self.buffer) and super().read_token()

    def add_line(self, link: re.Match[str]) -> None:
        """Add the link of a line that the tokenizer does not read."""
        # The first of the attributes with the same name counts.
        pairs = reversed(ATTRIBUTE_OF_LINE.findall(link[1]))
        values = {name.lower(): references.decode_attribute(value) for name, value in pairs}
        self.add(self.start_link(values)._replace(title=references.decode_text(link[2])))
        self.line += 1
        self.position = link.end()

    def start_link(self, values: dict[str, str]) -> Record:
        """Return the record of a link with these attributes at the current position."""
        folders = self.folders
        if folders.next is not None:
            self.records += folders.end_heading()
        folders.is_empty = self.is_in_head = False
        created_at = values.get("created_at") or values.get("add_date") or values.get("time_added")
        left_out = sorted(
            [key for key, value in values.items() if key not in ATTRIBUTES_OF_BOOKMARKS and means_something(value)]
        )
        url = values["href"].strip()
        url = url if url.isprintable() else URL_WHITE_SPACE.sub("", url)
        return Record(self.line, url, "", folders.current or None, created_at, tuple(left_out))

    def add(self, link: Record) -> None:
        self.records.append(link)
        self.follows_link = True

    def handle_text(self, text: str) -> None:
        if self.text is not None:
            if self.text.tell() < MAX_TEXT_LENGTH:
                self.text.write(text)
        elif self.is_in_description and self.follows_link and text and not text.isspace():
            link = self.records[-1]
            self.records[-1] = link._replace(left_out=(*link.left_out, "description"))  # type: ignore[union-attr,call-arg]
            self.follows_link = False

    def handle_error(self, line: int, reason: str) -> None:
        self.records.append(InvalidRecord(line, reason))
        self.follows_link = False

    def handle_start_tag(self, name: str, tag: re.Match[str]) -> None:
        values = attributes(tag) if name == "a" or name in HEADINGS else {}
        if name in TAGS_THAT_END_TEXT and (name != "a" or "href" in values):
            self.end_text()
        if name == "a" and "href" in values:
            self.text, self.link = StringIO(), self.start_link(values)
        elif name in HEADINGS:
            self.records += self.folders.end_heading()
            self.text, self.heading, self.heading_line = StringIO(), {"tag": name, **values}, self.line
            self.is_in_head = self.follows_link = False
        elif name in LISTS:
            if self.folders.start_list(LISTS[name]):
                self.is_in_head = self.follows_link = False
        elif name == "dd":
            self.is_in_description = True
        elif name in TAGS_WITH_RAW_TEXT and self.text is not None:
            self.handle_text(tag[0])
        elif name in END_OF_CONTENT and self.is_in_head:
            self.skip_until, self.skipped_line = END_OF_CONTENT[name], self.line

    def handle_end_tag(self, name: str) -> None:
        if name in TAGS_THAT_END_TEXT and not (name == "a" and self.heading):
            self.end_text(is_closed=name == "a" or name in HEADINGS)
        elif name in TAGS_WITH_RAW_TEXT and self.text is not None:
            self.handle_text(f"</{name}>")
        if self.folders.names and LISTS.get(name) == self.folders.kind:
            self.records += self.folders.end_list(self.line)
            self.follows_link = False

    def end_text(self, is_closed: bool = False) -> None:
        self.is_in_description = False
        if self.text is None:
            return
        text = references.decode_text(self.text.getvalue().replace("\0", ""))
        text = text if is_closed else text.strip()
        if self.link is not None:
            self.add(self.link._replace(title=text))
        else:
            self.end_heading(text)
        self.text, self.link, self.heading = None, None, {}

    def end_heading(self, text: str) -> None:
        special = next((name for key, name in SPECIAL_FOLDERS.items() if key in self.heading), "")
        folders, whole_name = self.folders, self.heading.get("collection")
        if name := whole_name or text or special:
            name = whole_name or within(folders.current, name)
            folders.next = Folder(self.heading_line, name, is_title=self.heading["tag"] == "h1")

    def close(self) -> None:
        super().close()
        self.end_text()
        self.records += self.folders.end_list(self.line) if self.folders.names else []
