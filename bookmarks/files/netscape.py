"""Bookmarks as a Netscape bookmark file, which every browser and bookmark service exports.

It is HTML without some closing tags. A heading names a folder, and the list after it has the folder's contents.
https://learn.microsoft.com/en-us/previous-versions/windows/internet-explorer/ie-developer/platform-apis/aa753582(v=vs.85)

The lists of links that Pocket and Instapaper export as HTML are read as well.
"""

import re
from collections.abc import Iterable, Iterator
from html import escape
from io import StringIO
from itertools import takewhile
from typing import Any, BinaryIO, TextIO

from bookmarks.models import Bookmark, Collection

from .content import open_text
from .html_tokenizer import HtmlTokenizer, attributes, decode
from .records import CollectionRecord, FileRecord, InvalidRecord, ObjectReader, join_path, split_path, to_dict

HEADER = """<!DOCTYPE NETSCAPE-Bookmark-file-1>
<META HTTP-EQUIV="Content-Type" CONTENT="text/html; charset=UTF-8">
<TITLE>Bookmarks</TITLE>
<H1>Bookmarks</H1>
<DL><p>
"""

MAX_DEPTH = 1000  # lists; deeper ones are ignored, so that they take no memory

MAX_TEXT_LENGTH = 64 * 1024  # characters that are read of a title, which may be written as character references

LISTS = {"dl", "ul", "ol"}
HEADINGS = {"h1", "h2", "h3", "h4", "h5", "h6"}
TAGS_THAT_END_TEXT = {"a", "dd", "dt", "hr", "li", *LISTS, *HEADINGS}
TAGS_WITH_RAW_TEXT = {"iframe", "noembed", "noframes", "plaintext", "script", "style", "textarea", "title", "xmp"}


class NetscapeReader:
    """Yields a record for each link and for each empty folder.

    In Netscape's format, an ``H3`` names a folder, the ``DL`` after it has the contents of the folder, and the ``H1``
    is the title of the file. If the outermost list is a ``UL`` or ``OL``, an ``H1`` names a folder as well. A list with
    another tag than the outermost one is part of a description.

    Some programs do not escape titles. In the title "How <style> works", a browser would read the rest of the file as
    a style sheet. Here, a tag in TAGS_WITH_RAW_TEXT is text in a title, and ignored elsewhere; its content is read.
    """

    def __init__(self, text: TextIO) -> None:
        self.tokens = HtmlTokenizer(text)
        self.records: list[FileRecord] = []
        """The records that the last token has completed."""
        self.text: StringIO | None = None
        """The text of the open link or heading so far."""
        self.objects = ObjectReader()
        self.link: dict[str, Any] = {}
        """The values of the last link, which gets a title when its text ends, and then perhaps a description."""
        self.link_line = 0
        self.heading: dict[str, str] = {}
        """The name of the tag and the attributes of the open heading."""
        self.is_in_description = False
        self.names: list[str] = []
        """For each open list, the name of the collection for its links."""
        self.list_tag = ""
        """The tag of the outermost list."""
        self.is_empty = False
        """Whether nothing has been read in the innermost list."""
        self.next_name = ""
        """The name of the collection for the contents of the next list, if a heading precedes it."""
        self.is_title = False
        """Whether that heading is the title of the file, unless a ``UL`` or ``OL`` follows."""

    def __iter__(self) -> Iterator[FileRecord]:
        for token in self.tokens:
            if isinstance(token, str):
                self.add_text(token)
            elif isinstance(token, ValueError):
                self.end_link()
                self.records.append(InvalidRecord(self.tokens.line, str(token)))
            elif token["slash"]:
                self.end_tag(token["tag"].lower())
            else:
                self.start_tag(token["tag"].lower(), token)
            self.tokens.is_in_text = self.text is not None or self.is_in_description  # There, a comment ends at ">".
            if self.records:
                yield from self.records
                self.records.clear()
        self.end_text()
        self.end_link()
        if self.names:
            self.end_list()
        yield from self.records

    @property
    def collection(self) -> str:
        """The name of the collection for links, or an empty string."""
        return self.names[-1] if self.names else ""

    def add_text(self, text: str) -> None:
        if self.text is not None:
            if self.text.tell() < MAX_TEXT_LENGTH:
                self.text.write(text)
        elif self.is_in_description and self.link and not text.isspace():
            self.link["description"] = True  # only reported as left out, because a bookmark has no description

    def start_tag(self, name: str, tag: re.Match[str]) -> None:
        values = attributes(tag) if name == "a" or name in HEADINGS else {}
        if name in TAGS_THAT_END_TEXT and (name != "a" or "href" in values):
            self.end_text()
        if name == "a" and "href" in values:
            self.start_link(values)
        elif name in HEADINGS:
            self.end_link()
            self.text, self.heading = StringIO(), {**values, "tag": name}
        elif name in LISTS:
            self.start_list(name)
        elif name == "dd":
            self.is_in_description = True
        elif name in TAGS_WITH_RAW_TEXT and self.text is not None:
            self.add_text(tag[0])

    def end_tag(self, name: str) -> None:
        if name in TAGS_THAT_END_TEXT and not (name == "a" and self.heading):  # not at an anchor in a heading
            self.end_text(is_closed=name == "a" or name in HEADINGS)
        elif name in TAGS_WITH_RAW_TEXT and self.text is not None:
            self.add_text(f"</{name}>")
        if self.names and name == self.list_tag:
            self.end_link()
            self.end_list()

    def start_link(self, values: dict[str, str]) -> None:
        self.end_link()
        self.is_empty = False
        if "created_at" in values:
            values.pop("add_date", None)  # the same date, in whole seconds
        url = re.sub(r"[\t\n\r]", "", values.pop("href").strip())  # as browsers do
        self.link = {**values, "url": url, "title": "", "collection": self.collection or None}
        self.link_line = self.tokens.line
        self.text = StringIO()

    def end_link(self) -> None:
        """Add the record of the last link, unless its text has not ended."""
        if self.link and self.text is None:
            self.records.append(self.objects.record(self.link_line, self.link))
            self.link = {}

    def end_text(self, is_closed: bool = False) -> None:
        self.is_in_description = False
        if self.text is None:
            return
        text = decode(self.text.getvalue().replace("\0", ""))
        text = text if is_closed else text.strip()  # The white space before the next tag is not part of it.
        if self.link:
            self.link["title"] = text
        else:
            path = join_path(self.collection, text) if text else ""
            self.next_name, self.is_title = self.heading.get("collection") or path, self.heading["tag"] == "h1"
        self.text, self.heading = None, {}

    def start_list(self, tag: str) -> None:
        if not self.names:
            self.list_tag = tag
        if tag != self.list_tag or len(self.names) == MAX_DEPTH:
            return
        self.end_link()
        is_title = self.is_title and tag == "dl"
        self.names.append(self.collection if is_title else self.next_name or self.collection)
        self.next_name, self.is_empty = "", True

    def end_list(self) -> None:
        """End the innermost list, and add the collection of its folder if the folder is empty."""
        if self.is_empty and self.collection:
            self.records.append(CollectionRecord(self.tokens.line, self.collection))
        self.names.pop()
        self.is_empty = False


def read(file: BinaryIO, encoding: str | None = None) -> Iterator[FileRecord]:
    """Yield a record for each link, and one for each folder with neither links nor folders.

    The collection of a link is the path of its folders.
    """
    yield from NetscapeReader(open_text(file, encoding, is_html=True))


def write(items: Iterable[Bookmark | Collection]) -> Iterator[str]:
    """Yield the file's text. The bookmarks must be ordered by collection. A Collection among them is an empty one."""
    yield HEADER
    folders: list[str] = []
    last = None
    for item in items:
        collection = item if isinstance(item, Collection) else item.collection
        if collection != last:
            last = collection
            headings = _headings(collection.name) if collection else []
            around = headings[:-1] if item is collection else headings
            yield from _move(folders, around)
            folders = around
            if item is collection:
                # Write a folder of its own, even if a folder with its name is open because it contains other folders.
                yield f"<DT>{headings[-1]}\n<DL><p>\n</DL><p>\n"
        if isinstance(item, Bookmark):
            yield f"{_link(item)}\n"
    yield from _move(folders, [])
    yield "</DL><p>\n"


def _move(folders: list[str], others: list[str]) -> Iterator[str]:
    """Yield the lines that close and open folders, from one path of headings to another."""
    shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(folders, others, strict=False)))
    yield from ["</DL><p>\n"] * (len(folders) - shared)
    yield from (f"<DT>{heading}\n<DL><p>\n" for heading in others[shared:])


def _headings(name: str) -> list[str]:
    """Return the headings of the folders whose path is ``name``, outermost first, or else one heading with the name."""
    if folders := split_path(name):
        return [f"<H3>{_escape(folder)}</H3>" for folder in folders]
    return [f'<H3 COLLECTION="{_escape(name)}">{_escape(name)}</H3>']  # An import takes the name from the attribute.


def _link(bookmark: Bookmark) -> str:
    # Browsers read ADD_DATE, in whole seconds. CREATED_AT is for an import into this service.
    seconds, time = int(bookmark.created_at.timestamp()), to_dict(bookmark)["created_at"]
    dates = f'ADD_DATE="{seconds}" CREATED_AT="{time}"'
    return f'<DT><A HREF="{_escape(bookmark.url)}" {dates}>{_escape(bookmark.title)}</A>'


def _escape(text: str) -> str:
    return escape(text).replace("\r", "&#13;")  # Browsers read CR as LF.
