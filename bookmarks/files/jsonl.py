"""Bookmarks as JSON Lines: an object on each line, with a URL and any of the names in ``programs``."""

import json
from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO

from bookmarks.models import Bookmark, Collection
from usergroups.contract.files import read_lines

from .encodings import Utf8Text
from .records import FileRecord, InvalidRecord, ObjectReader, to_dict


def read(file: BinaryIO, encoding: str | None = None) -> Iterator[FileRecord]:
    """Yield a record for each line, or an InvalidRecord if it is not a JSON object."""
    objects = ObjectReader()
    lines: Any = Utf8Text(file, encoding) if encoding else file
    for line, value in read_lines(lines):
        if isinstance(value, ValueError):
            yield InvalidRecord(line, str(value))
        else:
            yield objects.record(line, value)


def write(bookmarks: Iterable[Bookmark | Collection]) -> Iterator[str]:
    """Yield the lines of the file."""
    for bookmark in bookmarks:
        yield json.dumps(to_dict(bookmark), ensure_ascii=False) + "\n"
