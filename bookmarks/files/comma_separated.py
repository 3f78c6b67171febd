"""Bookmarks as CSV (RFC 4180): a header names the columns, in any order, of which only that of the URL is required.

Spreadsheets take a cell that begins like a formula for one. Therefore such cells are written with an apostrophe before
them, and reading a file with exactly our columns removes it.
"""

import csv
import re
from collections.abc import Iterable, Iterator
from typing import BinaryIO

from django.utils.translation import gettext as _

from bookmarks.models import Bookmark, Collection

from .columns import Layout
from .csv_rows import RowReader
from .encodings import open_text
from .records import FIELDS, OWNER_FIELDS, FileRecord, InvalidRecord, to_dict, to_dict_with_owner

FORMULA = re.compile(r"'*[=+\-@\t\r]")


def read(file: BinaryIO, encoding: str | None = None) -> Iterator[FileRecord]:
    """Yield a record for each row, or an InvalidRecord if it is not CSV."""
    rows = RowReader(open_text(file, encoding))
    layout = None
    is_our_own = False
    for line, row in rows:
        if isinstance(row, ValueError):
            yield InvalidRecord(line, str(row))
        elif layout is None:
            layout = Layout(row)
            if not layout.url_positions:
                reason = _("The header has no column named url, uri or href, so no bookmarks can be read.")
                yield InvalidRecord(line, reason)
                return
            is_our_own = tuple(row) in (FIELDS, OWNER_FIELDS + FIELDS)
            rows.width = layout.length
            rows.url_position = None if is_our_own else layout.url_positions[0]
        elif len(row) > layout.length and any(row[layout.length :]):
            numbers = {"number": len(row), "columns": layout.length}
            yield InvalidRecord(line, _("The row has %(number)s cells for %(columns)s columns.") % numbers)
        else:
            yield layout.record(line, [*map(_without_protection, row)] if is_our_own else row)


def _without_protection(cell: str) -> str:
    return cell[1:] if cell[:1] == "'" and FORMULA.match(cell) else cell


class _Echo:
    """A file that returns what is written, so that the CSV writer returns each line."""

    def write(self, text: str) -> str:
        return text


def write(items: Iterable[Bookmark | Collection], with_owner: bool = False) -> Iterator[str]:
    """Yield the lines of the file, optionally with the OWNER_FIELDS."""
    convert = to_dict_with_owner if with_owner else to_dict
    writer = csv.DictWriter(_Echo(), [*OWNER_FIELDS, *FIELDS] if with_owner else FIELDS)
    yield writer.writeheader()
    for item in items:
        cells = convert(item)
        yield writer.writerow(
            {name: f"'{cell}" if cell and FORMULA.match(cell) else cell for name, cell in cells.items()}
        )
