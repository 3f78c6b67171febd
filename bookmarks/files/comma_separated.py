"""Bookmarks as CSV (RFC 4180): a header names the columns, in any order, of
which only that of the URL is required.

Spreadsheets run a cell that begins like a formula. An export therefore writes
an apostrophe before such a cell, and an import removes it, but only from files
with exactly the columns of an export.
"""

import csv
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import chain
from typing import TextIO

from .decoding import MAX_LINE, read_lines
from .fields import FieldMap
from .problems import Problem, gettext_noop, too_long
from .records import (
    FIELDS,
    FileRecord,
    InvalidRecord,
    JsonValue,
    WrittenRecord,
    to_dict,
)
from .tag_lists import comma_list

# The places before what a spreadsheet runs: in a cell, and after a semicolon or
# a line break in it. Apostrophes count, so that an import restores each cell.
BEFORE_FORMULA = re.compile(r"(?:\A|(?<=[;\r\n]))(?='*[=+\-@\t\r])")
ESCAPED_FORMULA = re.compile(r"(?:\A|(?<=[;\r\n]))'(?='*[=+\-@\t\r])")

TAGS = FIELDS.index("tags")

DELIMITERS = ",;\t"
MAX_COLUMNS = 200  # because a row takes time for each column, also if it is short
# A line for Excel before the header.
DECLARED_DELIMITER = re.compile(r"sep=[,;|\t][\r\n]*", re.IGNORECASE)


# Articles in a cell are longer than the default of the process, 131,072.
csv.field_size_limit(max(csv.field_size_limit(), MAX_LINE))


def find_delimiter(header: str) -> str:
    """Return the character that separates the cells: the most frequent one that
    makes a column of URLs.
    """
    by_number = sorted(DELIMITERS, key=header.count, reverse=True)
    for delimiter in by_number:
        names = next(csv.reader([header], delimiter=delimiter))
        if FieldMap(names).positions["url"]:
            return delimiter
    return by_number[0]


def read_rows(text: TextIO) -> Iterator[tuple[int, list[str] | Problem]]:
    """Yield the number of the line on which each row begins, and its cells or
    why it cannot be read.

    Blank lines are skipped. A line ``sep=;`` before the header, for Excel, names
    the delimiter.
    """
    lines = read_lines(text)
    next_number = 1
    delimiter = ""
    # The number of columns, or 0 until the header has been read.
    width = 0
    for line in lines:
        number = next_number
        next_number += 1
        if not width and DECLARED_DELIMITER.fullmatch(line):
            delimiter = line[len("sep=")]
        elif len(line) > MAX_LINE:
            yield number, too_long(MAX_LINE)
        elif not line.isspace():
            delimiter = delimiter or find_delimiter(line)
            cells, size = read_row(line, lines, delimiter, width)
            next_number = number + size
            if cells is None:
                problem = gettext_noop(
                    "A quotation mark is missing or misplaced, so the lines up to "
                    "%(last)s cannot be read.",
                    last=next_number - 1,
                )
                yield number, problem
            elif any(cells):
                width = width or len(cells)
                yield number, cells


def read_row(
    line: str, following: Iterator[str], delimiter: str, width: int
) -> tuple[list[str] | None, int]:
    """Return the cells of the row that begins with this line, and the number of
    its lines.

    A row of one line is read as spreadsheets do. One of several lines must have
    as many cells as the header, and no text after a closing quotation mark.
    Otherwise a quotation mark is missing, and rows have become part of a cell:
    return None in place of the cells.
    """
    rows = csv.reader([line.rstrip("\r\n"), ""], delimiter=delimiter)
    cells = next(rows)
    # It has also read the empty line if a quotation mark is open.
    if rows.line_num == 1:
        return cells, 1
    row = bounded(chain([line], following))
    rows = csv.reader(row, delimiter=delimiter, strict=True)
    # A row that does not end is an error, too.
    with suppress(csv.Error):
        cells = next(rows)
        if len(cells) == (width or len(cells)):
            return cells, rows.line_num
    return None, rows.line_num


def bounded(lines: Iterable[str]) -> Iterator[str]:
    """Yield the lines until they have MAX_LINE characters."""
    size = 0
    for line in lines:
        yield line
        size += len(line)
        if size >= MAX_LINE:
            return


def read(text: TextIO) -> Iterator[FileRecord]:
    """Yield a record for each row, or an InvalidRecord if it cannot be read."""
    columns = None
    width = 0
    is_our_own = False
    for line, row in read_rows(text):
        if isinstance(row, Problem):
            yield InvalidRecord(line, row)
        elif columns is None:
            columns = FieldMap(row[:MAX_COLUMNS])
            width = len(row)
            is_our_own = tuple(row) == FIELDS
            if not columns.positions["url"]:
                problem = gettext_noop(
                    "The header has no column named url, uri, href or link, so no "
                    "bookmarks can be read."
                )
                yield InvalidRecord(line, problem)
                return
        elif any(row[width:]):
            problem = gettext_noop(
                "The row has %(number)s cells for %(columns)s columns.",
                number=len(row),
                columns=width,
            )
            yield InvalidRecord(line, problem)
        else:
            missing = min(width, MAX_COLUMNS) - len(row)
            values = [*row, *[""] * missing]
            yield columns.record(line, _restored(values) if is_our_own else values)


def _restored(cells: list[str]) -> list[JsonValue]:
    """Return the values that ``write`` has written as these cells."""
    # Most cells have no apostrophe. Without this question, a row takes at least a
    # quarter more time to read and validate.
    restored = [
        ESCAPED_FORMULA.sub("", cell) if "'" in cell else cell for cell in cells
    ]
    values: list[JsonValue] = [*restored]
    # No other character than the comma separates the tags.
    values[TAGS] = restored[TAGS].split(",")
    return values


class Echo:
    """A file that returns what is written to it."""

    def write(self, text: str) -> str:
        return text


def write(records: Iterable[WrittenRecord]) -> Iterator[str]:
    """Yield the lines of the file."""
    rows = csv.writer(Echo())
    yield rows.writerow(FIELDS)
    for record in records:
        values = to_dict(record)
        values["tags"] = comma_list(values.get("tags", ()))
        cells = [values.get(name) or "" for name in FIELDS]
        yield rows.writerow([BEFORE_FORMULA.sub("'", cell) for cell in cells])
