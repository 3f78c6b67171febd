"""Bookmarks as JSON, which other programs export: lists of objects, or folders with lists of bookmarks and folders.

Records have the ordinal numbers of the bookmarks, because the lines of such a file mean nothing.
"""

from collections.abc import Iterator
from typing import BinaryIO

from django.utils.translation import gettext as _

from .encodings import open_text
from .json_parser import JsonParser
from .json_reader import JsonReader
from .json_tokens import InvalidJson
from .records import FileRecord, InvalidRecord


def read(file: BinaryIO, encoding: str | None = None) -> Iterator[FileRecord]:
    """Yield a record for each bookmark. If the file is invalid, yield an InvalidRecord at the end."""
    reader = JsonReader(JsonParser(open_text(file, encoding)))
    try:
        yield from reader.records()
    except InvalidJson as error:
        reader.contents.name_all()
        yield from reader.contents.take()
        reason = _("The rest of the file cannot be read, because it is not valid JSON: %(reason)s.")
        yield InvalidRecord(reader.number + 1, reason % {"reason": error})
