"""Import and export of bookmarks as files, in the formats of browsers, other services and this one."""

from collections.abc import Iterator
from pathlib import PurePath
from typing import BinaryIO

from . import comma_separated, json_bookmarks, jsonl, netscape
from .records import FileRecord

EXPORT_FORMATS = {"html": netscape, "jsonl": jsonl, "csv": comma_separated}
"""The module of each format that can be written. ``write(bookmarks)`` yields text, in constant memory."""

FORMATS = {**EXPORT_FORMATS, "json": json_bookmarks}
"""The module of each format that can be read. ``read(file, encoding)`` yields records, in constant memory."""


def read(file: BinaryIO, name: str, encoding: str | None = None) -> Iterator[FileRecord]:
    """Yield the records of a file in the format with this name, in constant memory.

    ``encoding`` is a label of the WHATWG Encoding Standard. By default, the file tells its encoding.
    """
    yield from FORMATS[name].read(file, encoding)


def guess_format(file_name: str) -> str | None:
    """Return the format that the file name's extension stands for, or None."""
    extension = PurePath(file_name).suffix[1:].lower()
    extension = {"htm": "html"}.get(extension, extension)
    return extension if extension in FORMATS else None
