"""The report of an import, which the command, the admin and the API show."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from bookmarks.files import FileRecord, Problem
from usergroups.csv_cells import csv_line

MAX_REFUSALS = 200
MAX_WITH_REASON = 10  # so that a thousand of them do not hide another one
MAX_TEXT = 500  # characters of the URL or title of a refused record


def translated(reason: str) -> str:
    """Return why a file or a record cannot be read in the active language."""
    if not isinstance(reason, Problem):
        return reason
    values = reason.values.items()
    return _(reason.text) % {name: translated(value) for name, value in values}


def printable(text: str) -> str:
    """Replace by U+FFFD, the replacement character, what cannot be stored:
    U+0000, and lone surrogates, which stand for bytes that could not be
    decoded.
    """
    encoded = text.replace("\0", "\ufffd").encode("utf-16", "surrogatepass")
    return encoded.decode("utf-16", "replace")


def beginning(record: FileRecord, name: str) -> str:
    """Return the beginning of a value of a record, or an empty text if the
    record has no such value.
    """
    text = str(getattr(record, name, None) or "")
    return printable(text[:MAX_TEXT])


class Refusal(NamedTuple):
    """A record that was refused, and why."""

    line: int
    """Its place in the file, as in ``Record.line``."""
    url: str
    title: str
    reason: str


def refused_lines(refusals: Iterable[Refusal]) -> str:
    """Return the refusals as CSV with a header, or an empty text if there are
    none.
    """
    lines = [csv_line(map(str, refusal)) for refusal in refusals]
    if not lines:
        return ""
    return "".join([csv_line(Refusal._fields), *lines])


@dataclass
class Report:
    """The result of an import."""

    created: int = 0
    updated: int = 0
    """The number of existing bookmarks that the import has changed."""
    existing: int = 0
    """The number of bookmarks that already existed, or are repeated in the
    file, and that the import did not change.
    """
    collections: int = 0
    """The number of new collections."""
    has_folders_only: bool = False
    """Whether the file is an export of nothing but empty folders."""
    refused: int = 0
    refusals: list[Refusal] = field(default_factory=list)
    """The first MAX_WITH_REASON refusals for each reason, up to MAX_REFUSALS."""
    unusable_dates: int = 0
    """The number of bookmarks whose date is invalid or in the future.

    New ones get the date of the import.
    """
    shortened: int = 0
    """The number of shortened texts, and of tags that were cleaned or dropped.

    The name of a collection counts once for each of its bookmarks.
    """
    error: str | None = None
    """Why the import ended before the end of the file, or that the file has no
    bookmarks, or None.
    """
    file_name: str = ""
    """The name of the file, if it is known."""
    importer: str = ""
    """The command that imports the file, if one does."""
    stopped_at: int | None = None
    """The ``line`` of the first record that was not read because of the time
    limit, or None.
    """
    last_line: int = 0
    """The ``line`` of the last record that was read."""

    def add(self, counts: Mapping[str, int]) -> None:
        """Add these counts to the numbers with their names."""
        for name, count in counts.items():
            setattr(self, name, getattr(self, name) + count)

    def stored_folders_only(self, number: int) -> None:
        """Say that the file has only this number of empty folders."""
        self.has_folders_only = True
        text = ngettext(
            "No bookmarks, only %(number)s empty folder.",
            "No bookmarks, only %(number)s empty folders.",
            number,
        )
        self.error = text % {"number": number}

    @property
    def has_failed(self) -> bool:
        """Whether nothing of the file could be used.

        A file that was not read to its end because of the time limit has not
        failed.
        """
        if self.stopped_at or self.has_folders_only:
            return False
        return self.has_no_bookmark and bool(self.error or self.refused)

    def stop(self, seconds: float, line: int) -> None:
        """Say that the time limit has passed before the record on this line."""
        # An empty folder at the beginning of a JSON file has no bookmark
        # before it.
        self.stopped_at = max(line, 1)
        text = _(
            "The import was stopped after %(seconds)s seconds, before line "
            "%(line)s (in a JSON file, bookmark %(line)s)."
        )
        self.error = text % {"seconds": seconds, "line": self.stopped_at}

    def refuse(self, record: FileRecord, reason: str) -> None:
        """Count a record that was refused, and perhaps keep its refusal."""
        self.refused += 1
        if len(self.refusals) == MAX_REFUSALS:
            return
        shown = printable(translated(reason))
        same = [refusal for refusal in self.refusals if refusal.reason == shown]
        if len(same) < MAX_WITH_REASON:
            url = beginning(record, "url")
            title = beginning(record, "title")
            self.refusals.append(Refusal(record.line, url, title, shown))

    @property
    def is_empty(self) -> bool:
        """Whether the file contains nothing that was stored or refused."""
        return self.has_no_bookmark and not self.refused

    @property
    def has_no_bookmark(self) -> bool:
        """Whether no bookmark of the file was stored or existed already."""
        return not (self.created or self.updated or self.existing)

    @property
    def remarks(self) -> Iterator[str]:
        """Sentences about what else the import changed or left out, besides
        the counts and the refusals.
        """
        if self.unusable_dates:
            text = _(
                "Bookmarks with a date that cannot be used: %(count)s. New ones have "
                "the date of the import."
            )
            yield text % {"count": self.unusable_dates}
        if self.shortened:
            text = _(
                "Texts and tags that were too long, too many or invalid, and were "
                "shortened: %(count)s."
            )
            yield text % {"count": self.shortened}
