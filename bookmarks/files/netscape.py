"""Bookmarks as a Netscape bookmark file.

Every browser and bookmark service exports this format. It is HTML without some
closing tags. A heading names a folder, and the list after it has the folder's
contents. Microsoft documents it as "Netscape Bookmark File Format", aa753582.

The lists of links that Pocket and Instapaper export as HTML are read as well.
"""

import re
from collections.abc import Iterable, Iterator
from datetime import datetime
from html import escape
from io import StringIO
from typing import TextIO

from .fields import record_of
from .folder_paths import path_in_folder, split_path
from .html_tokenizer import attributes, decode_text, tokens
from .problems import Problem
from .programs import LINKDING_END_OF_NOTES, LINKDING_NOTES
from .records import (
    CollectionRecord,
    FileRecord,
    InvalidRecord,
    JsonValue,
    Record,
    WrittenRecord,
)
from .tag_lists import comma_list

START_OF_LIST = "<DL><p>\n"
END_OF_LIST = "</DL><p>\n"

START_OF_FILE = f"""<!DOCTYPE NETSCAPE-Bookmark-file-1>
<META HTTP-EQUIV="Content-Type" CONTENT="text/html; charset=UTF-8">
<TITLE>Bookmarks</TITLE>
<H1>Bookmarks</H1>
{START_OF_LIST}"""

# In lists. Deeper ones are ignored, so that they take no memory.
MAX_DEPTH = 1000

# In characters of a title or a description, which may be written as character
# references. The rest is not read.
MAX_TEXT_LENGTH = 64 * 1024

WHITE_SPACE = " \t\n\f\r"
# Spaces that would not be part of a description.
OUTER_SPACE = re.compile(r"\A[ \t\f]|[ \t\f]\Z")

LISTS = {"dl", "ul", "ol"}
HEADINGS = {"h1", "h2", "h3", "h4", "h5", "h6"}
# Of titles and descriptions. Other lists are part of a description.
TAGS_THAT_END_TEXT = {"a", "dd", "dl", "dt", "hr", *HEADINGS}
# They begin a new line of a description.
LINE_BREAKS = {"br", "li", "p"}
# The elements of HTML that are not part of a title. Those whose content a
# browser reads as text, such as "style", are not among them.
NAMES_OF_ELEMENTS = """
    a abbr acronym address applet area article aside audio b base basefont bdi
    bdo bgsound big blink blockquote body br button canvas caption center cite
    code col colgroup command content data datalist dd del details dfn dialog
    dir div dl dt element em embed fieldset figcaption figure font footer form
    frame frameset h1 h2 h3 h4 h5 h6 head header hgroup hr html i image img
    input ins isindex kbd keygen label legend li link listing main map mark
    marquee math menu menuitem meta meter multicol nav nextid nobr noscript
    object ol optgroup option output p param picture portal pre progress q rb
    rp rt rtc ruby s samp search section select selectedcontent shadow slot
    small source spacer span strike strong sub summary sup svg table tbody td
    template tfoot th thead time tr track tt u ul var video wbr
"""
MARKUP = frozenset(NAMES_OF_ELEMENTS.split())


class NetscapeReader:
    """Yields a record for each link and for each empty folder.

    In Netscape's format, an H3 names a folder, the DL after it has the
    contents of the folder, and the H1 is the title of the file. If the
    outermost list is a UL or OL, an H1 names a folder as well. A list with
    another tag than the outermost one is part of a description.

    Some programs do not escape titles. In the title "How <style> works", a
    browser would read the rest of the file as a style sheet. Here, a tag that
    is not in MARKUP is text in a title, and ignored elsewhere.
    """

    def __init__(self, text: TextIO) -> None:
        self.tokens = tokens(text)
        # The number of the line on which the last token begins.
        self.line = 1
        # The records that the last token has completed.
        self.records: list[FileRecord] = []
        # The text of the open link, heading or description so far, or None.
        self.text: StringIO | None = None
        # The values of the last link, which gets a title when its text ends,
        # and then perhaps a description.
        self.link: dict[str, JsonValue] = {}
        self.link_line = 0
        # The name of the tag and the attributes of the open heading.
        self.heading: dict[str, str] = {}
        self.is_in_description = False
        # The name of the collection for links, or an empty string.
        self.collection = ""
        # For each open list, the name of the collection around it.
        self.outer_collections: list[str] = []
        # The tag of the outermost list.
        self.list_tag = ""
        # Whether nothing has been read in the innermost list.
        self.is_empty = False
        # The name of the collection for the contents of the next list, if a
        # heading precedes it.
        self.next_collection = ""
        # Whether that heading is an H1.
        self.is_title = False

    def __iter__(self) -> Iterator[FileRecord]:
        for line, token in self.tokens:
            self.line = line
            # first, because a Problem is text as well
            if isinstance(token, Problem):
                self.end_link()
                self.records.append(InvalidRecord(self.line, token))
            elif isinstance(token, str):
                self.add_text(token)
            elif token["slash"]:
                self.end_tag(token["tag"].lower(), token)
            else:
                self.start_tag(token["tag"].lower(), token)
            if self.records:
                yield from self.records
                self.records.clear()
        self.end_text()
        self.end_link()
        # Of the lists that are still open, only the innermost can be empty.
        if self.outer_collections:
            self.end_list()
        yield from self.records

    def add_text(self, text: str) -> None:
        if self.text is not None:
            self.text.write(text[: MAX_TEXT_LENGTH - self.text.tell()])

    def start_tag(self, name: str, tag: re.Match[str]) -> None:
        if name == "a":
            values = attributes(tag)
            if "href" in values:
                self.end_text()
                self.start_link(values)
            return
        if self.is_in_description and name in LINE_BREAKS:
            self.add_text("\n")
        if name in TAGS_THAT_END_TEXT:
            self.end_text()
        if name == "dt":
            # A description after this is not that of the last link, even if
            # there is no link here, such as for the feeds of old browsers.
            self.end_link()
        elif name in HEADINGS:
            self.end_link()
            self.text = StringIO()
            self.heading = {**attributes(tag), "tag": name}
        elif name in LISTS:
            self.start_list(name)
        elif name == "dd":
            self.is_in_description = True
            # That of a folder is not imported.
            self.text = StringIO() if self.link else None
        elif name not in MARKUP and self.text is not None:
            self.add_text(tag[0])

    def end_tag(self, name: str, tag: re.Match[str]) -> None:
        if name == "a" and (self.heading or self.is_in_description):
            # It is an anchor in the heading or description.
            return
        if name in TAGS_THAT_END_TEXT:
            self.end_text(is_closed=name == "a" or name in HEADINGS)
        elif name not in MARKUP and self.text is not None:
            self.add_text(tag[0])
        if self.outer_collections and name == self.list_tag:
            self.end_link()
            self.end_list()

    def start_link(self, values: dict[str, str]) -> None:
        self.end_link()
        self.is_empty = False
        url = values.pop("href")
        self.link = {
            **values,
            "url": url,
            "title": "",
            "collection": self.collection or None,
        }
        if "created_at" in values and "tags" in values:
            # Only exports of this service have CREATED_AT. No other character
            # than the comma separates their tags.
            self.link["tags"] = values["tags"].split(",")
        self.link_line = self.line
        self.text = StringIO()

    def end_link(self) -> None:
        """Add the record of the last link, unless its text has not ended."""
        if self.link and self.text is None:
            self.records.append(record_of(self.link_line, self.link))
            self.link = {}

    def end_text(self, is_closed: bool = False) -> None:
        """End the text of a link, heading or description.

        ``is_closed`` tells whether the tag of a link or heading is closed.
        """
        is_description = self.is_in_description
        self.is_in_description = False
        if self.text is None:
            return
        text = self.text.getvalue().replace("\0", "")
        self.text = None
        if is_description:
            self.link["description"] = self.description(text)
            return
        text = decode_text(text)
        if not is_closed:
            # The white space before the next tag is not part of the text.
            text = text.strip()
        if self.link:
            self.link["title"] = text
        else:
            path = path_in_folder(self.collection, text) if text else ""
            self.next_collection = self.heading.get("collection") or path
            self.is_title = self.heading["tag"] == "h1"
            self.heading = {}

    def description(self, text: str) -> str:
        """Return the description of the link that has this text."""
        text = decode_text(text.strip(WHITE_SPACE))
        if "created_at" in self.link:
            # Only exports of this service have CREATED_AT.
            return text
        text = text.removesuffix(LINKDING_END_OF_NOTES)
        return text.replace(LINKDING_NOTES, "\n\n").strip()

    def start_list(self, tag: str) -> None:
        if not self.outer_collections:
            self.list_tag = tag
        if tag != self.list_tag or len(self.outer_collections) == MAX_DEPTH:
            return
        self.end_link()
        self.outer_collections.append(self.collection)
        is_whole_file = self.is_title and tag == "dl"
        if self.next_collection and not is_whole_file:
            self.collection = self.next_collection
        self.next_collection = ""
        self.is_empty = True

    def end_list(self) -> None:
        """End the innermost list, and add its collection if it is empty."""
        if self.is_empty and self.collection:
            self.records.append(CollectionRecord(self.line, self.collection))
        self.collection = self.outer_collections.pop()
        self.is_empty = False


def read(text: TextIO) -> Iterator[FileRecord]:
    """Yield a record for each link, and for each folder that is empty.

    An empty folder has neither links nor folders. The collection of a link is
    the path of its folders.
    """
    return iter(NetscapeReader(text))


def write(records: Iterable[WrittenRecord]) -> Iterator[str]:
    """Yield the file's text. The bookmarks must be ordered by collection."""
    yield START_OF_FILE
    open_folders: list[str] = []
    last_collection = None
    for record in records:
        if isinstance(record, CollectionRecord):
            # Write a folder of its own, even if a folder with its name is open
            # because it contains other folders.
            *around, heading = _headings(record.collection)
            yield from _move(open_folders, around)
            last_collection = record.collection
            yield f"<DT>{heading}\n{START_OF_LIST}{END_OF_LIST}"
        else:
            if record.collection != last_collection:
                yield from _move(open_folders, _headings(record.collection))
                last_collection = record.collection
            yield f"{_link(record)}\n"
    yield from _move(open_folders, [])
    yield END_OF_LIST


def _move(open_folders: list[str], folders: list[str]) -> Iterator[str]:
    """Yield the lines that close and open folders.

    Both arguments are paths of headings: of the folders that are open, and of
    those that should be. Afterwards, ``open_folders`` is equal to ``folders``.
    """
    while open_folders != folders[: len(open_folders)]:
        open_folders.pop()
        yield END_OF_LIST
    for heading in folders[len(open_folders) :]:
        open_folders.append(heading)
        yield f"<DT>{heading}\n{START_OF_LIST}"


def _headings(collection: str | None) -> list[str]:
    """Return the headings of the folders of a collection, outermost first.

    If its name is not a path of folders, return one heading with the name.
    """
    if collection is None:
        return []
    folders = split_path(collection)
    if folders:
        return [f"<H3>{_escape(folder)}</H3>" for folder in folders]
    # An import takes the name from the attribute.
    name = _escape(collection)
    return [f'<H3 COLLECTION="{name}">{name}</H3>']


def _link(record: Record) -> str:
    created_at = str(record.created_at)
    seconds = int(datetime.fromisoformat(created_at).timestamp())
    # Browsers read ADD_DATE, in whole seconds. CREATED_AT is for an import
    # into this service.
    tag = f'<A HREF="{_escape(str(record.url))}" ADD_DATE="{seconds}"'
    tag += f' CREATED_AT="{created_at}"'
    tags = _escape(comma_list(record.tags))
    if tags:
        tag += f' TAGS="{tags}"'
    link = f"<DT>{tag}>{_escape(record.title or '')}</A>"
    if not record.note:
        return link
    note = OUTER_SPACE.sub(_character_reference, _escape(record.note))
    return f"{link}\n<DD>{note}"


def _character_reference(space: re.Match[str]) -> str:
    return f"&#{ord(space[0])};"


def _escape(text: str) -> str:
    # Chromium decodes only &amp;, &lt;, &gt;, &quot; and &#39;, and skips a
    # bookmark that has a line break. Browsers read CR as LF.
    text = escape(text, quote=False).replace('"', "&quot;")
    return text.replace("\n", "&#10;").replace("\r", "&#13;")
