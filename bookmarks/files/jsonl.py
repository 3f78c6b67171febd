"""Bookmarks as JSON Lines: an object on each line, with a URL and any of the names in ``programs``."""

import json
from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO

from django.utils.translation import gettext as _

from bookmarks.models import Bookmark, Collection
from usergroups.contract import strict_json

from .content import MAX_LINE
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


def read_lines(file: BinaryIO) -> Iterator[tuple[int, dict[str, Any] | ValueError]]:
    """Yield the number of each non-empty line with its object, or with a ValueError that says why it is invalid."""
    number = 0
    while line := file.readline(MAX_LINE + 1):
        number += 1
        if len(line) > MAX_LINE:
            while not line.endswith(b"\n") and (line := file.readline(MAX_LINE)):
                pass
            yield number, ValueError(_("The line is longer than %(max)s bytes.") % {"max": MAX_LINE})
        elif line.strip():
            yield number, _object(line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line)


def _object(line: bytes) -> dict[str, Any] | ValueError:
    try:
        value = strict_json.loads(line)
    except ValueError as error:
        return error
    return value if isinstance(value, dict) else ValueError(_("The line is not a JSON object."))
