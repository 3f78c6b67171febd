"""The report of an import that the admin shows."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar
from urllib.parse import quote

from django.utils.text import capfirst

from bookmarks.files import positions
from bookmarks.files.report import Report, printable
from usergroups.csv_cells import csv_line
from usergroups.models import UserGroup

MAX_DETAILS = 200  # refused records, and names of collections
MAX_TEXT = 500  # characters of a URL or title

T = TypeVar("T")


class RefusedRecord(NamedTuple):
    line: int
    url: str
    title: str
    reason: str


@dataclass(kw_only=True)
class DetailedReport(Report):
    """A report that also says what was imported, and has the first refused
    records.
    """

    user_group: UserGroup
    format_name: str
    dry_run: bool
    collections: list[str] = field(default_factory=list)
    """The names of new collections."""
    refused_records: list[RefusedRecord] = field(default_factory=list)

    def watch(self, records: Iterable[T]) -> Iterator[T]:
        """Yield the records, and remember the current one, because an import
        passes only the line and the reason to ``refuse()``.
        """
        for record in records:
            self.record: object = record
            yield record

    def refuse(self, line: int, reason: str) -> None:
        super().refuse(line, reason)
        if len(self.refused_records) == MAX_DETAILS:
            return
        url = self.text_of_record("url")
        title = self.text_of_record("title")
        self.refused_records.append(RefusedRecord(line, url, title, reason))

    def text_of_record(self, name: str) -> str:
        """Return the beginning of a value of the current record, or an empty
        text if the record has no such value.
        """
        text = str(getattr(self.record, name, None) or "")
        return printable(text[:MAX_TEXT])

    @property
    def refused_places(self) -> list[tuple[str, str]]:
        """The places in the file and the reason of each group of refusals."""
        places = []
        for refusal in self.refusals:
            place = capfirst(positions(self.format_name, refusal))
            places.append((place, refusal.reason))
        return places

    @property
    def refused_csv(self) -> str:
        """A ``data:`` URL that contains a CSV file with the refused records.

        Thus the server does not have to store the file until somebody
        downloads it.
        """
        text = csv_line(RefusedRecord._fields)
        for record in self.refused_records:
            text += csv_line(map(str, record))
        return f"data:text/csv;charset=utf-8,{quote(text)}"
