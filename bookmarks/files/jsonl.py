"""Bookmarks as JSON Lines: an object on each line.

Its keys are among ``field_names.NAMES``.
"""

import json
from collections.abc import Iterable, Iterator
from typing import Any, TextIO

from django.utils.translation import gettext as _

from bookmarks.models import Bookmark, Collection
from usergroups.api import strict_json

from .decoding import MAX_LINE, read_lines
from .field_names import ObjectReader
from .records import FileRecord, InvalidRecord, to_dict


def read(text: TextIO) -> Iterator[FileRecord]:
    """Yield a record for each line that is not blank, or an InvalidRecord if
    it cannot be read.
    """
    objects = ObjectReader()
    for number, line in enumerate(read_lines(text), start=1):
        if line.isspace():
            continue
        try:
            yield objects.record(number, _object(line))
        except ValueError as error:
            yield InvalidRecord(number, str(error))


def write(items: Iterable[Bookmark | Collection]) -> Iterator[str]:
    """Yield the lines of the file."""
    for item in items:
        yield json.dumps(to_dict(item), ensure_ascii=False) + "\n"


def _object(line: str) -> dict[str, Any]:
    """Return the object of a line.

    Raises ValueError with the reason if the line is invalid.
    """
    if len(line) > MAX_LINE:
        problem = _("The line is longer than %(max)s characters.")
        raise ValueError(problem % {"max": MAX_LINE})
    value = strict_json.loads(line.encode(errors="surrogateescape"))
    if not isinstance(value, dict):
        raise ValueError(_("The line is not a JSON object."))
    return value
