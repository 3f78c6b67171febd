"""Import and export of bookmarks as files, in the formats of browsers, other services and this one."""

from pathlib import PurePath

from django.utils.translation import gettext as _

from usergroups.compressed_files import DecompressedFile, Readable

from . import comma_separated, json_bookmarks, jsonl, netscape
from .records import Records

EXPORT_FORMATS = {"html": netscape, "jsonl": jsonl, "csv": comma_separated}
"""The module of each format that can be written. ``write(bookmarks)`` yields text, in constant memory."""

FORMATS = {**EXPORT_FORMATS, "json": json_bookmarks}
"""The module of each format that can be read. ``read(file, encoding)`` yields records, in constant memory."""


class FileReader:
    """The records of a file, to iterate over once.

    A damaged file ends early. After the last record, ``error`` is the reason, or None if the file was read to its end.
    """

    def __init__(self, file: DecompressedFile, name: str, encoding: str | None) -> None:
        self.file, self.name, self.encoding = file, name, encoding

    def __iter__(self) -> Records:
        yield from FORMATS[self.name].read(self.file, self.encoding)

    @property
    def error(self) -> str | None:
        return self.file.error


def read(
    file: Readable, name: str, encoding: str | None = None, limit: int | None = None, seconds: float | None = None
) -> FileReader:
    """Return the records of a file in the format with this name, which are read in constant memory.

    The file may be compressed with gzip. It need not be seekable. ``encoding`` is a label of the WHATWG Encoding
    Standard; by default, the file tells its encoding. ``limit`` is a number of bytes after decompression, and
    ``seconds`` the time from now, after which the rest of the file is not read.
    """
    return FileReader(DecompressedFile(file, limit, seconds), name, encoding)


def guess_format(file_name: str) -> str | None:
    """Return the format that the file name's extension stands for, or None. ``.gz`` may follow the extension."""
    path = PurePath(file_name.lower().removesuffix(".gz"))
    extension = {"htm": "html"}.get(path.suffix[1:], path.suffix[1:])
    return extension if extension in FORMATS else None


def position(name: str, number: int) -> str:
    """Return where in a file of this format the record with this ``line`` is, for people."""
    text = _("bookmark %(number)s") if name == "json" else _("line %(number)s")
    return text % {"number": number}
