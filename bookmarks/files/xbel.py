"""Bookmarks as XBEL, which Konqueror, Falkon, Floccus and others write."""

from collections.abc import Iterator
from io import StringIO
from typing import TextIO
from xml.parsers.expat import ErrorString, ExpatError, ParserCreate

from .decoding import MAX_LINE, read_chunks
from .fields import record_of
from .folder_paths import path_in_folder
from .problems import Problem, UnreadableFile, gettext_noop
from .records import CollectionRecord, FileRecord, JsonValue

# Of elements, because the parser keeps those that are open in memory.
MAX_DEPTH = 250


class XbelReader:
    """Collects a record for each bookmark and for each empty folder."""

    def __init__(self) -> None:
        # The encoding is that of the text, whatever the file declares.
        self.parser = ParserCreate("utf-8")
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self.start
        self.parser.EndElementHandler = self.end
        self.parser.CharacterDataHandler = self.add_text
        self.parser.EntityDeclHandler = self.refuse_entity
        self.records: list[FileRecord] = []
        self.depth = 0
        # The collections of the open folders, from the outside.
        self.collections = [""]
        # Whether nothing has been read in the innermost folder.
        self.is_empty = False
        # The values of the open bookmark.
        self.values: dict[str, JsonValue] = {}
        self.line = 0
        self.text = StringIO()
        # The number of bytes since the last element or text.
        self.pending = 0

    def feed(self, data: bytes, is_last: bool = False) -> None:
        """Parse a part of the file. Raises UnreadableFile if it is not XML."""
        self.pending += len(data)
        try:
            self.parser.Parse(data, is_last)
        except ExpatError as error:
            raise self.problem(Problem(ErrorString(error.code))) from None
        # The parser keeps an element that has not ended, and might read it
        # again and again.
        if self.pending > MAX_LINE:
            raise self.problem(gettext_noop("an element is too long"))

    def problem(self, reason: Problem) -> UnreadableFile:
        problem = gettext_noop(
            "The file cannot be read after line %(line)s: %(reason)s.",
            line=self.parser.CurrentLineNumber,
            reason=reason,
        )
        return UnreadableFile(problem)

    def refuse_entity(self, *declaration: object) -> None:
        """Refuse a file with entities, of which a few bytes may stand for many
        gigabytes.
        """
        raise self.problem(gettext_noop("it declares entities"))

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self.depth += 1
        self.pending = 0
        if self.depth > MAX_DEPTH:
            raise self.problem(gettext_noop("it is nested too deep"))
        if name == "folder":
            self.collections.append(self.collections[-1])
            self.is_empty = True
        elif name == "bookmark":
            self.is_empty = False
            url = attributes.pop("href", "")
            collection = self.collections[-1] or None
            self.values = {**attributes, "url": url, "collection": collection}
            self.line = self.parser.CurrentLineNumber
        elif name in ("title", "desc"):
            self.text = StringIO()

    def add_text(self, text: str) -> None:
        self.pending = 0
        if self.text.tell() < MAX_LINE:
            self.text.write(text)

    def end(self, name: str) -> None:
        self.depth -= 1
        self.pending = 0
        text = self.text.getvalue().strip()
        if name == "bookmark":
            self.records.append(record_of(self.line, self.values))
            self.values = {}
        elif name in ("title", "desc") and self.values:
            self.values["title" if name == "title" else "description"] = text
        elif name == "title" and text and len(self.collections) > 1:
            self.collections[-1] = path_in_folder(self.collections[-2], text)
        elif name == "folder":
            collection = self.collections.pop()
            if self.is_empty and collection:
                line = self.parser.CurrentLineNumber
                self.records.append(CollectionRecord(line, collection))
            self.is_empty = False


def read(text: TextIO) -> Iterator[FileRecord]:
    """Yield the records. Raises UnreadableFile where the file is not XML."""
    reader = XbelReader()
    for chunk in read_chunks(text):
        try:
            # Bytes that cannot be decoded become bytes that are not UTF-8.
            reader.feed(chunk.encode(errors="surrogateescape"))
        finally:
            # Also those before an error.
            yield from reader.records
            reader.records.clear()
    reader.feed(b"", is_last=True)
