"""Read and write files of bookmarks, without Django.

The formats are those of browsers, of other bookmark services and of this one.
``python -m bookmarks.files FILE`` prints what is read from a file.
"""

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import PurePath
from typing import BinaryIO

from . import comma_separated, json_bookmarks, jsonl, netscape, url_lists, xbel
from .dates import NO_DATES, parse_date
from .decoding import encoding_name, open_text
from .kinds import SIZE, kind_of, refusal
from .problems import Problem, UnreadableFile
from .programs import EXPORT
from .records import (
    CollectionRecord,
    FileRecord,
    InvalidRecord,
    Record,
    WrittenRecord,
)
from .zip_content import open_content

__all__ = [
    "ANY_FORMAT",
    "EXPORT_FORMATS",
    "FORMATS",
    "FORMATS_BY_TYPE",
    "MEDIA_TYPES",
    "NO_DATES",
    "CollectionRecord",
    "FileRecord",
    "InvalidRecord",
    "Problem",
    "Record",
    "UnreadableFile",
    "WrittenRecord",
    "encoding_name",
    "guess_format",
    "parse_date",
    "read",
    "write",
]

# The module of each format that can be written. ``write(records)`` yields the
# text of a file in constant memory.
EXPORT_FORMATS = {"html": netscape, "jsonl": jsonl, "csv": comma_separated}

# The module of each format that can be read. ``read(text)`` yields the records
# of a seekable text in constant memory.
FORMATS = {
    **EXPORT_FORMATS,
    "json": json_bookmarks,
    "xbel": xbel,
    "txt": url_lists,
}

FORMATS_BY_EXTENSION = {
    **{f".{name}": name for name in FORMATS},
    ".htm": "html",
    ".md": "txt",
    # A copy of the file in a profile of Chrome.
    ".bak": "json",
}

MEDIA_TYPES = {
    "html": "text/html",
    "jsonl": "application/jsonl",
    "csv": "text/csv",
    "json": "application/json",
    "xbel": "application/xbel+xml",
    "txt": "text/plain",
}

FORMATS_BY_TYPE = {
    **{media_type: name for name, media_type in MEDIA_TYPES.items()},
    # Other programs use these media types for JSON Lines.
    "application/x-ndjson": "jsonl",
    "application/jsonlines": "jsonl",
    "text/markdown": "txt",
}

RECORDS_PER_CHUNK = 100

# The media type of files in any format.
ANY_FORMAT = "application/octet-stream"


def guess_format(file_name: str) -> str | None:
    """Return the name of the format of a file with this name, or None."""
    path = PurePath(file_name.lower())
    # The file in a profile of Chrome has no extension.
    if path.name == "bookmarks":
        return "json"
    return FORMATS_BY_EXTENSION.get(path.suffix)


def read(
    file: BinaryIO,
    file_format: str | None = None,
    encoding: str | None = None,
    *,
    name: str = "",
    limit: int | None = None,
) -> Iterator[FileRecord]:
    """Yield the records of a seekable file, or of the file in a ZIP, which is
    read in constant memory and closed.

    The format is, in this order, ``file_format``, that of the extension of its
    ``name``, or that of its content. ``encoding`` is the name of its encoding,
    as returned by ``encoding_name``; by default, the file declares it. A file in
    a ZIP may have up to ``limit`` bytes. Raises UnreadableFile after the last
    record if the rest of the file cannot be read, or if there is no bookmark.
    Only a file that is an export by its beginning may have nothing but empty
    folders.
    """
    content, name = open_content(file, name, limit)
    beginning = content.read(SIZE)
    content.seek(0)
    kind = kind_of(beginning)
    file_format = file_format or guess_format(name) or kind.format
    if not file_format:
        raise UnreadableFile(refusal(kind))
    # The types of the records.
    found = set()
    with open_text(content, encoding, file_format) as text:
        for record in FORMATS[file_format].read(text):
            found.add(type(record))
            yield record
    if Record in found:
        return
    has_reasons = InvalidRecord in found and kind.format == file_format
    has_folders = CollectionRecord in found and EXPORT.search(beginning)
    if not has_reasons and not has_folders:
        raise UnreadableFile(refusal(kind, file_format))


def write(records: Iterable[WrittenRecord], file_format: str) -> Iterator[bytes]:
    """Yield the bytes of a file in this format, a hundred records at a time."""
    texts = EXPORT_FORMATS[file_format].write(records)
    while chunk := "".join(islice(texts, RECORDS_PER_CHUNK)):
        yield chunk.encode()
