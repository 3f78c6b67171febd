"""Read JSON Lines, files with a JSON object on each line.

https://jsonlines.org/
"""

from collections.abc import Iterator
from typing import Any, BinaryIO

from django.utils.translation import gettext as _

from .contract import strict_json

MAX_LINE = 1024 * 1024  # bytes


def read(file: BinaryIO) -> Iterator[tuple[int, dict[str, Any] | ValueError]]:
    """Yield the number of each non-empty line with its object, or with a ValueError that says why it is invalid."""
    number = 0
    while line := file.readline(MAX_LINE + 1):
        number += 1
        if len(line) > MAX_LINE:
            while not line.endswith(b"\n") and (line := file.readline(MAX_LINE)):
                pass
            yield number, ValueError(_("The line is longer than %(max)s bytes.") % {"max": MAX_LINE})
        elif line.strip():
            yield number, _parse(line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line)


def _parse(line: bytes) -> dict[str, Any] | ValueError:
    try:
        value = strict_json.loads(line)
    except ValueError as error:
        return error
    if not isinstance(value, dict):
        return ValueError(_("The line is not a JSON object."))
    return value
