"""Read the rows of a CSV file strictly (RFC 4180), so that a missing or stray quotation mark costs one row.

The ``csv`` module takes everything up to the next quotation mark for one cell, be it thousands of rows.
"""

import re
from collections import deque
from collections.abc import Iterator
from typing import TextIO

from django.utils.translation import gettext as _

from usergroups.json_lines import MAX_LINE

DELIMITERS = ",;\t"
DECLARATION = re.compile(r"sep=([^\r\n\"])[\r\n]*", re.IGNORECASE)
"""A first line with which spreadsheets declare the delimiter."""

ADDRESS = re.compile("https?://", re.IGNORECASE)


class RowReader:
    """Yields the number of the line on which each row begins, and its cells or a ValueError if it is not CSV.

    The cells of a row may contain line breaks if they are quoted. A row is invalid if a quotation mark is where none
    may be, or if the closing one seems to be missing: if the row is longer than a mebibyte, if it has another number of
    cells than the header, or if a line in a cell reads as a row of its own. Reading resumes at the row's second line.

    Only a line with an odd number of quotation marks begins a row of several lines, and only the next such line can end
    it. Therefore no line is read more than twice.
    """

    def __init__(self, text: TextIO) -> None:
        self.text = text
        self.line = 0
        """The number of the last line that was taken."""
        self.waiting: deque[str] = deque()
        """Lines that were taken and put back."""
        self.width = 0
        """The number of columns, or 0 until the header has been read."""
        self.url_position: int | None = None
        """The column in which an address shows that a line is a row and not part of a cell, or None."""
        first = self.take()
        declared = DECLARATION.fullmatch(first)
        if first and not declared:
            self.put_back([first])
        self.delimiter = declared[1] if declared else max(DELIMITERS, key=first.count)
        delimiter = re.escape(self.delimiter)
        self.cell = re.compile(rf'(?:"([^"]*+(?:""[^"]*+)*+)"|([^"{delimiter}\r\n]*+)){delimiter}')
        self.row = re.compile(rf"(?:{self.cell.pattern})*+")

    def __iter__(self) -> Iterator[tuple[int, list[str] | ValueError]]:
        while line := self.take():
            number = self.line
            if len(line) > MAX_LINE:
                self.skip_rest(line)
                yield number, ValueError(_("The line is longer than %(max)s characters.") % {"max": MAX_LINE})
                continue
            if '"' not in line:
                cells: list[str] | None = line.rstrip("\r\n").split(self.delimiter)
            else:
                cells = self.read_lines(line) if line.count('"') % 2 else self.split(line)
            if cells is None:
                yield number, ValueError(_("Not CSV: a quotation mark is missing or misplaced."))
            elif any(cells):
                yield number, cells

    def take(self) -> str:
        """Return the next line with its end, or its beginning if it is too long, or an empty string after the last."""
        line = self.waiting.popleft() if self.waiting else self.text.readline(MAX_LINE + 1)
        self.line += bool(line)
        return line

    def put_back(self, lines: list[str]) -> None:
        self.line -= len(lines)
        self.waiting.extendleft(reversed(lines))

    def skip_rest(self, line: str) -> None:
        while line and not line.endswith(("\r", "\n")):
            line = self.text.readline(MAX_LINE)

    def split(self, row: str) -> list[str] | None:
        """Return the cells of a row, or None if a quotation mark is missing or misplaced."""
        row = row.rstrip("\r\n") + self.delimiter
        if not self.row.fullmatch(row):
            return None
        return [quoted.replace('""', '"') if quoted else plain for quoted, plain in self.cell.findall(row)]

    def read_lines(self, first: str) -> list[str] | None:
        """Return the cells of the row that begins with this line and ends with the next odd one, or None."""
        lines, length = [first], len(first)
        while length <= MAX_LINE and (line := self.take()):
            lines.append(line)
            length += len(line)
            if line.count('"') % 2:
                cells = self.split("".join(lines))
                if cells is not None and len(cells) == (self.width or len(cells)):
                    return cells
                break
            if self.url_position is not None and self.is_row(line, self.url_position):
                break
        self.put_back(lines[1:])
        return None

    def is_row(self, line: str, url_position: int) -> bool:
        cells = self.split(line)
        return cells is not None and len(cells) == self.width and bool(ADDRESS.match(cells[url_position]))
