"""Bookmarks as CSV (RFC 4180): a header names the columns, in any order, of
which only that of the URL is required.

Spreadsheets run a cell that begins like a formula. An export therefore writes
an apostrophe before such a cell, and an import removes it, but only from files
with exactly the columns of an export. Where spreadsheets separate cells by
semicolons, they ignore the commas and the quotation marks of an export, so
that a cell also begins after a semicolon or a line break.
"""

import csv
import re
from collections import deque
from collections.abc import Iterable, Iterator
from io import StringIO
from typing import BinaryIO

from django.utils.translation import gettext as _

from bookmarks.models import Bookmark, Collection

from .decoding import MAX_LINE, open_text, read_lines
from .field_names import FieldMap
from .records import FIELDS, FileRecord, InvalidRecord, to_dict

# also after apostrophes, so that an import restores each cell exactly
FORMULA = re.compile(r"'*[=+\-@\t\r]")
LATER_FORMULA = re.compile(rf"[;\r\n](?={FORMULA.pattern})")
ESCAPED_LATER_FORMULA = re.compile(rf"([;\r\n])'(?={FORMULA.pattern})")

DELIMITERS = ",;\t"
MAX_COLUMNS = 200  # because a row takes time for each column, also if it is short
BEGINNING_OF_URL = re.compile("https?://", re.IGNORECASE)


class RowReader:
    """Yields the number of the line on which each row begins, and its cells or
    a ValueError if it is not CSV.

    It is strict, so that only one row is lost if a quotation mark is missing
    or misplaced. The ``csv`` module would read everything up to the next
    quotation mark as one cell, even thousands of rows.

    A row is invalid if a quotation mark is misplaced. A quoted cell may
    contain line breaks. Its closing quotation mark counts as missing if the
    row is longer than MAX_LINE characters, has another number of cells than
    the header, or has a line that could be a row of its own. The row is then
    invalid, and reading resumes at its second line.

    Only a line with an odd number of quotation marks begins a row of several
    lines, and only the next such line can end it. Therefore no line is read
    more than twice.
    """

    def __init__(self, lines: Iterator[str]) -> None:
        self.lines = lines
        self.line = 0
        """The number of the last line that was taken."""
        first = next(lines, "")
        self.waiting = deque([first])
        """The lines to take next: the first line, or lines that were put back.
        """
        self.width = 0
        """The number of columns, or 0 until the header has been read."""
        self.url_position: int | None = None
        """The column in which a URL shows that a line is a row of its own and
        not part of a cell, or None.
        """
        self.delimiter = max(DELIMITERS, key=first.count)
        delimiter = re.escape(self.delimiter)
        # Atomic groups and not possessive repeats of groups, which Python 3.11
        # before 3.11.5 gets wrong.
        quoted, plain = r'[^"]*+(?>(?:""[^"]*+)*)', rf'[^"{delimiter}\r\n]*+'
        # with the delimiter after it
        self.cell = re.compile(rf'(?:"({quoted})"|({plain})){delimiter}')
        # a sequence of such cells
        self.row = re.compile(rf'(?>(?:(?:"{quoted}"|{plain}){delimiter})*)')

    def __iter__(self) -> Iterator[tuple[int, list[str] | ValueError]]:
        # translated once to save time
        misplaced = ValueError(_("Not CSV: a quotation mark is missing or misplaced."))
        while line := self.take():
            number = self.line
            if len(line) > MAX_LINE:
                yield (
                    number,
                    ValueError(
                        _("The line is longer than %(max)s characters.")
                        % {"max": MAX_LINE}
                    ),
                )
                continue
            if '"' not in line:
                cells: list[str] | None = line.rstrip("\r\n").split(self.delimiter)
            else:
                cells = (
                    self.read_multiline(line)
                    if line.count('"') % 2
                    else self.split(line)
                )
            if cells is None:
                yield number, misplaced
            elif any(cells):
                yield number, cells

    def take(self) -> str:
        """Return the next line with its end, or its beginning if it is too
        long, or an empty string after the last.
        """
        line = self.waiting.popleft() if self.waiting else next(self.lines, "")
        self.line += bool(line)
        return line

    def split(self, row: str) -> list[str] | None:
        """Return the cells of a row, or None if a quotation mark is missing or
        misplaced.
        """
        row = row.rstrip("\r\n") + self.delimiter
        if not self.row.fullmatch(row):
            return None
        return [
            quoted.replace('""', '"') if quoted else plain
            for quoted, plain in self.cell.findall(row)
        ]

    def read_multiline(self, first: str) -> list[str] | None:
        """Return the cells of a row of several lines, of which this is the
        first. If invalid, put back the others.
        """
        lines, length = [first], len(first)
        while length <= MAX_LINE and (line := self.take()):
            lines.append(line)
            length += len(line)
            if line.count('"') % 2:  # the last line
                cells = self.split("".join(lines))
                if cells is not None and len(cells) == (self.width or len(cells)):
                    return cells
                break
            if self.url_position is not None and "://" in line:
                cells = self.split(line) or []
                if len(cells) == self.width and BEGINNING_OF_URL.match(
                    cells[self.url_position]
                ):
                    break
        self.line -= len(lines) - 1
        self.waiting.extendleft(reversed(lines[1:]))
        return None


def read(file: BinaryIO, encoding: str | None = None) -> Iterator[FileRecord]:
    """Yield a record for each row, or an InvalidRecord if it cannot be read."""
    rows = RowReader(read_lines(open_text(file, encoding)))
    columns = None
    is_our_own = False
    for line, row in rows:
        if isinstance(row, ValueError):
            yield InvalidRecord(line, str(row))
        elif columns is None:
            if len(row) > MAX_COLUMNS:
                reason = _(
                    "The header has more than %(max)s columns, so no bookmarks can be "
                    "read."
                )
                yield InvalidRecord(line, reason % {"max": MAX_COLUMNS})
                return
            columns = FieldMap(row)
            if columns.positions[0] == columns.length:
                reason = _(
                    "The header has no column named url, uri, href or link, so no "
                    "bookmarks can be read."
                )
                yield InvalidRecord(line, reason)
                return
            is_our_own = tuple(row) == FIELDS
            rows.width = columns.length
            # An export has all quotation marks.
            rows.url_position = None if is_our_own else columns.positions[0]
        elif len(row) > columns.length and any(row[columns.length :]):
            numbers = {"number": len(row), "columns": columns.length}
            yield InvalidRecord(
                line,
                _("The row has %(number)s cells for %(columns)s columns.") % numbers,
            )
        else:
            cells = [*row[: columns.length], *[None] * (columns.length - len(row))]
            if is_our_own:
                cells = [unescape(cell) if cell else cell for cell in cells]
            yield columns.record(line, cells)


def write(items: Iterable[Bookmark | Collection]) -> Iterator[str]:
    """Yield the lines of the file."""
    yield csv_line(FIELDS)
    for item in items:
        values = to_dict(item)
        yield csv_line([values.get(name) or "" for name in FIELDS])


def csv_line(cells: Iterable[str]) -> str:
    """Return a line of a CSV file, with an apostrophe before everything that a
    spreadsheet would run as a formula.
    """
    text = StringIO()
    csv.writer(text).writerow([escape(cell) for cell in cells])
    return text.getvalue()


def escape(cell: str) -> str:
    """Return the cell with an apostrophe before each formula."""
    # Most cells have none. search() takes a sixth of the time of sub().
    if LATER_FORMULA.search(cell):
        cell = LATER_FORMULA.sub(r"\g<0>'", cell)
    return f"'{cell}" if FORMULA.match(cell) else cell


def unescape(cell: str) -> str:
    """Return the cell as it was before ``escape()``."""
    if cell.startswith("'") and FORMULA.match(cell):
        cell = cell[1:]
    if ESCAPED_LATER_FORMULA.search(cell):
        cell = ESCAPED_LATER_FORMULA.sub(r"\1", cell)
    return cell
