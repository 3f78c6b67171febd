"""Bookmarks as JSON Lines: an object on each line, whose keys are among ``records.NAMES``."""

import json
from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO

from django.utils.translation import gettext as _

from bookmarks.models import Bookmark, Collection
from usergroups.contract import strict_json

from .content import MAX_LINE, open_text, read_lines
from .records import FileRecord, InvalidRecord, ObjectReader, to_dict


def read(file: BinaryIO, encoding: str | None = None) -> Iterator[FileRecord]:
    """Yield a record for each line that is not blank, or an InvalidRecord with the reason if the line is invalid."""
    objects = ObjectReader()
    for number, line in enumerate(read_lines(open_text(file, encoding)), start=1):
        if not line.isspace():
            try:
                yield objects.record(number, _object(line))
            except ValueError as error:
                yield InvalidRecord(number, str(error))


def write(items: Iterable[Bookmark | Collection]) -> Iterator[str]:
    """Yield the lines of the file."""
    for item in items:
        yield json.dumps(to_dict(item), ensure_ascii=False) + "\n"


def _object(line: str) -> dict[str, Any]:
    """Return the object of a line. Raises ValueError with the reason if it is invalid."""
    if len(line) > MAX_LINE:
        raise ValueError(_("The line is longer than %(max)s characters.") % {"max": MAX_LINE})
    value = strict_json.loads(line.encode(errors="surrogateescape"))
    if not isinstance(value, dict):
        raise ValueError(_("The line is not a JSON object."))
    return value
