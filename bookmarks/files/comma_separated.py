"""Bookmarks as CSV (RFC 4180): a header that names the columns, in any order, of which only ``url`` is required."""

import csv
import io
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import BinaryIO

from django.utils.translation import gettext as _

from bookmarks.models import Bookmark, Collection
from usergroups.json_lines import MAX_LINE

from .records import (
    FIELDS,
    OWNER_FIELDS,
    CollectionRecord,
    FileRecord,
    InvalidRecord,
    Record,
    to_dict,
    to_dict_with_owner,
)


def read(file: BinaryIO, encoding: str | None = None) -> Iterator[FileRecord]:
    """Yield a record for each row, or an InvalidRecord if it is not CSV."""
    text = io.TextIOWrapper(file, "utf-8-sig", errors="surrogateescape", newline="")
    try:
        yield from _records(text)
    finally:
        # The code that opened the file closes it. If the import stopped early, the file may be closed already.
        with suppress(ValueError):
            text.detach()


def _records(text: io.TextIOWrapper) -> Iterator[FileRecord]:
    reader = csv.reader(iter(lambda: text.readline(MAX_LINE), ""))
    columns: list[str] = []
    while True:
        line = reader.line_num + 1
        try:
            row = next(reader)
        except StopIteration:
            break
        except csv.Error as error:
            yield InvalidRecord(line, _("Not CSV: %(reason)s.") % {"reason": str(error)})
            continue
        if columns and row:
            values = {name: cell for name, cell in zip(columns, row, strict=False) if cell}
            if values.keys() == {"collection"}:
                yield CollectionRecord(line, values["collection"])
            else:
                yield Record.from_mapping(line, values)
        elif row:
            columns = [name.strip().casefold() for name in row]
            if "url" not in columns:
                reason = _("The header has no column named url, so no bookmarks can be read.")
                yield InvalidRecord(line, reason)
                break


class _Echo:
    """A file that returns what is written, so that the CSV writer returns each line."""

    def write(self, text: str) -> str:
        return text


def write(bookmarks: Iterable[Bookmark | Collection], with_owner: bool = False) -> Iterator[str]:
    """Yield the lines of the file, optionally with the OWNER_FIELDS."""
    convert = to_dict_with_owner if with_owner else to_dict
    writer = csv.DictWriter(_Echo(), [*OWNER_FIELDS, *FIELDS] if with_owner else FIELDS)
    yield writer.writeheader()
    for bookmark in bookmarks:
        yield writer.writerow(convert(bookmark))
