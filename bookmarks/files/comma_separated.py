"""Bookmarks as CSV (RFC 4180): a header names the columns, in any order, of
which only that of the URL is required.

Spreadsheets run a cell that begins like a formula. An export therefore writes
an apostrophe before such a cell, and an import removes it, but only from files
with exactly the columns of an export.
"""

import csv
import re
from collections import deque
from collections.abc import Iterable, Iterator
from operator import methodcaller
from typing import TextIO

from django.utils.translation import gettext as _

from bookmarks.models import Bookmark, Collection
from usergroups.csv_cells import FORMULA, csv_line

from .decoding import MAX_LINE, read_lines
from .field_names import FieldMap
from .records import FIELDS, FileRecord, InvalidRecord, to_dict
from .tag_lists import comma_list

ESCAPED_LATER_FORMULA = re.compile(rf"([;\r\n])'(?={FORMULA.pattern})")

DELIMITERS = ",;\t"
MAX_COLUMNS = 200  # because a row takes time for each column, also if it is short
BEGINNING_OF_URL = re.compile("https?://", re.IGNORECASE)


# Articles in a cell are longer than the default of the process, 131,072.
csv.field_size_limit(max(csv.field_size_limit(), MAX_LINE))


class RowReader:
    """Yields the number of the line on which each row begins, and its cells or
    a ValueError if it cannot be read.

    Each row is read by the ``csv`` module. On the whole file, that would read
    everything up to the next quotation mark as one cell, even thousands of
    rows, if a closing quotation mark is missing.

    A closing quotation mark counts as missing if the row is longer than
    MAX_LINE characters, has another number of cells than the header, or has a
    line that could be a row of its own. Only the first line of the row is then
    lost, and reading resumes at its second line.

    Only a line with an odd number of quotation marks can end a row of several
    lines, and only the first such line is tried. Therefore no line is read
    more than twice.
    """

    def __init__(self, lines: Iterator[str]) -> None:
        self.lines = lines
        # The number of the last line that was taken.
        self.line_number = 0
        first = next(lines, "")
        # The lines to take next: the first line, or lines that were put back.
        self.waiting = deque([first])
        # The number of columns, or 0 until the header has been read.
        self.width = 0
        # The column in which a URL shows that a line is a row of its own and
        # not part of a cell, or None.
        self.url_position: int | None = None
        self.delimiter = max(DELIMITERS, key=first.count)

    def __iter__(self) -> Iterator[tuple[int, list[str] | ValueError]]:
        while line := self.take():
            number = self.line_number
            # Most lines are like this. It is much faster than csv.reader().
            if '"' not in line and len(line) <= MAX_LINE:
                cells = line.rstrip("\r\n").split(self.delimiter)
            else:
                try:
                    cells = self.read_row(line)
                except ValueError as error:
                    yield number, error
                    continue
            if any(cells):
                yield number, cells

    def take(self) -> str:
        """Return the next line with its line break, from those that were put
        back or else from the file, or an empty string after the last line.

        Only the beginning of a line that is too long is returned.
        """
        line = self.waiting.popleft() if self.waiting else next(self.lines, "")
        if line:
            self.line_number += 1
        return line

    def split(self, row: str, strict: bool = False) -> list[str] | None:
        """Return the cells of a row, or None if a quotation mark is missing.

        With ``strict``, also return None if there is text after a closing one.
        """
        lines = [row.rstrip("\r\n"), ""]
        rows = csv.reader(lines, delimiter=self.delimiter, strict=strict)
        try:
            cells = next(rows)
        except csv.Error:
            return None
        # It has also read the empty line if a quotation mark is open.
        return cells if rows.line_num == 1 else None

    def read_row(self, first: str) -> list[str]:
        """Return the cells of the row of which this is the first line.

        Raises ValueError, and puts the other lines back, if it is invalid.
        """
        if len(first) > MAX_LINE:
            problem = _("The line is longer than %(max)s characters.")
            raise ValueError(problem % {"max": MAX_LINE})
        cells = self.split(first)
        if cells is not None:
            return cells
        lines = [first]
        length = len(first)
        while length <= MAX_LINE and (line := self.take()):
            lines.append(line)
            length += len(line)
            if line.count('"') % 2:
                # Otherwise it could be the opening one of another row.
                cells = self.split("".join(lines), strict=True)
                if cells is not None and len(cells) == (self.width or len(cells)):
                    return cells
                break
            if self.is_row_of_its_own(line):
                break
        self.line_number -= len(lines) - 1
        self.waiting.extendleft(reversed(lines[1:]))
        raise ValueError(_("Not CSV: a quotation mark is missing or misplaced."))

    def is_row_of_its_own(self, line: str) -> bool:
        """Return whether a line in a cell has a URL in the column of URLs."""
        if self.url_position is None or "://" not in line:
            return False
        cells = self.split(line) or []
        return len(cells) == self.width and bool(
            BEGINNING_OF_URL.match(cells[self.url_position])
        )


def read(text: TextIO) -> Iterator[FileRecord]:
    """Yield a record for each row, or an InvalidRecord if it cannot be read."""
    rows = RowReader(read_lines(text))
    columns = None
    is_our_own = False
    for line, row in rows:
        if isinstance(row, ValueError):
            yield InvalidRecord(line, str(row))
        elif columns is None:
            columns = FieldMap(row)
            problem = _problem_of_header(columns)
            if problem:
                yield InvalidRecord(line, problem)
                return
            is_our_own = tuple(row) == FIELDS
            rows.width = len(row)
            if not is_our_own:
                # An export has all quotation marks.
                [rows.url_position] = columns.positions["url"]
            if is_our_own:
                # No other character than the comma separates the tags.
                columns.split = methodcaller("split", ",")
        elif any(row[rows.width :]):
            numbers = {"number": len(row), "columns": rows.width}
            problem = _("The row has %(number)s cells for %(columns)s columns.")
            yield InvalidRecord(line, problem % numbers)
        else:
            missing = [""] * (rows.width - len(row))
            cells = [*row[: rows.width], *missing]
            if is_our_own:
                cells = [unescape(cell) for cell in cells]
            yield columns.record(line, cells)


def _problem_of_header(columns: FieldMap) -> str | None:
    """Return why no bookmarks can be read below a header, or None."""
    if len(columns.names) > MAX_COLUMNS:
        problem = _(
            "The header has more than %(max)s columns, so no bookmarks can be read."
        )
        return problem % {"max": MAX_COLUMNS}
    if not columns.positions["url"]:
        return _(
            "The header has no column named url, uri, href or link, so no bookmarks "
            "can be read."
        )
    return None


def write(items: Iterable[Bookmark | Collection]) -> Iterator[str]:
    """Yield the lines of the file."""
    yield csv_line(FIELDS)
    for item in items:
        values = to_dict(item)
        values["tags"] = comma_list(values.get("tags", ()))
        yield csv_line([values.get(name) or "" for name in FIELDS])


def unescape(cell: str) -> str:
    """Return the cell as it was before ``csv_line()``."""
    if cell.startswith("'") and FORMULA.match(cell):
        cell = cell[1:]
    if ESCAPED_LATER_FORMULA.search(cell):
        cell = ESCAPED_LATER_FORMULA.sub(r"\1", cell)
    return cell
