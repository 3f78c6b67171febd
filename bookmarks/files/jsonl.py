"""Bookmarks as JSON Lines: an object on each line.

Its keys are among ``programs.NAMES``.
"""

import json
from collections.abc import Iterable, Iterator
from typing import Any, TextIO

from .decoding import MAX_LINE, read_lines
from .fields import record_of
from .problems import Problem, gettext_noop, too_long
from .records import FileRecord, InvalidRecord, WrittenRecord, to_dict


def read(text: TextIO) -> Iterator[FileRecord]:
    """Yield a record for each line that is not blank, or an InvalidRecord if
    it cannot be read.
    """
    for number, line in enumerate(read_lines(text), start=1):
        if line.isspace():
            continue
        values = _object(line)
        if isinstance(values, Problem):
            yield InvalidRecord(number, values)
        else:
            yield record_of(number, values)


def write(records: Iterable[WrittenRecord]) -> Iterator[str]:
    """Yield the lines of the file."""
    for record in records:
        yield json.dumps(to_dict(record), ensure_ascii=False) + "\n"


def _object(line: str) -> dict[str, Any] | Problem:
    """Return the object of a line, or why it cannot be read."""
    if len(line) > MAX_LINE:
        return too_long(MAX_LINE)
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        return gettext_noop("The text is not valid JSON: %(reason)s.", reason=error)
    if not isinstance(value, dict):
        return gettext_noop("The line is not a JSON object.")
    return value
