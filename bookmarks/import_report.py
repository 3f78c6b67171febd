"""The report of an import, which the command, the admin and the API show."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop, ngettext

from bookmarks.files import FileRecord, Problem
from usergroups.csv_cells import csv_line

MAX_REASONS = 100
MAX_LINES = 10  # for each reason
MAX_RECORDS = 200  # refused ones
MAX_TEXT = 500  # characters of the URL or title of a refused record
MAX_NAMES = 100
MAX_NAME_LENGTH = 255  # characters
MAX_COLLECTIONS = 200  # names of new collections
OTHER_REASONS = Problem(gettext_noop("Other reasons."))
OTHER_NAMES = "…"
"""The name under which all further names are counted together after MAX_NAMES
names.
"""


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


class RefusedRecord(NamedTuple):
    line: int
    """Its place in the file, as in ``Record.line``."""
    url: str
    title: str
    reason: str


def refused_lines(records: Iterable[RefusedRecord]) -> str:
    """Return the refused records as CSV with a header, or an empty text if
    there are none.
    """
    lines = [csv_line(map(str, record)) for record in records]
    if not lines:
        return ""
    text = "".join([csv_line(RefusedRecord._fields), *lines])
    # PostgreSQL refuses U+0000.
    return text.replace("\0", "\N{REPLACEMENT CHARACTER}")


class NameCounts(Counter[str]):
    """Counts names from a file in bounded memory: long names are cut, and
    MAX_NAMES names are counted separately.
    """

    def add(self, names: Iterable[str]) -> None:
        for name in names:
            key = name if name in self else printable(name[:MAX_NAME_LENGTH])
            self[key if key in self or len(self) < MAX_NAMES else OTHER_NAMES] += 1


@dataclass
class Refusal:
    """The records that were refused for one reason."""

    reason: str
    count: int = 0
    lines: list[int] = field(default_factory=list)
    """The ``line`` of each of the first MAX_LINES records."""


def positions(format_name: str, refusal: Refusal) -> str:
    """Describe for people where in a file the refused records are.

    These are the numbers of bookmarks in JSON, and of lines in other formats.
    """
    numbers = ", ".join(map(str, refusal.lines))
    unlisted = refusal.count - len(refusal.lines)
    if unlisted:
        text = _("%(numbers)s and %(count)s more")
        numbers = text % {"numbers": numbers, "count": unlisted}
    if format_name == "json":
        text = ngettext("bookmark %(numbers)s", "bookmarks %(numbers)s", refusal.count)
    else:
        text = ngettext("line %(numbers)s", "lines %(numbers)s", refusal.count)
    return text % {"numbers": numbers}


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
    collection_names: list[str] = field(default_factory=list)
    """The names of the first MAX_COLLECTIONS new collections."""
    has_folders_only: bool = False
    """Whether the file is an export of nothing but empty folders."""
    refused: int = 0
    refusals_by_reason: dict[str, Refusal] = field(default_factory=dict)
    refused_records: list[RefusedRecord] = field(default_factory=list)
    """The first MAX_RECORDS refused records."""
    unusable_dates: int = 0
    """The number of bookmarks whose date is invalid or in the future.

    New ones get the date of the import.
    """
    shortened: int = 0
    """The number of shortened texts, and of tags that were cleaned or dropped.

    The name of a collection counts once for each of its bookmarks.
    """
    left_out: NameCounts = field(default_factory=NameCounts)
    """The names of values that are not imported, with the number of bookmarks
    that have each.
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

    def add_collections(self, names: list[str]) -> None:
        self.collections += len(names)
        room = MAX_COLLECTIONS - len(self.collection_names)
        self.collection_names += names[:room]

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
        """Count a record that was refused, and keep the first ones."""
        self.refused += 1
        if len(self.refused_records) < MAX_RECORDS:
            url = beginning(record, "url")
            title = beginning(record, "title")
            shown = printable(translated(reason))
            self.refused_records.append(RefusedRecord(record.line, url, title, shown))
        refusals = self.refusals_by_reason
        if reason not in refusals:
            if len(refusals) >= MAX_REASONS:
                reason = OTHER_REASONS
            shown = printable(translated(reason))
            refusals.setdefault(reason, Refusal(shown))
        refusal = refusals[reason]
        refusal.count += 1
        if len(refusal.lines) < MAX_LINES:
            refusal.lines.append(record.line)

    @property
    def is_of_nothing(self) -> bool:
        """Whether the file contains nothing that was stored or refused."""
        return self.has_no_bookmark and not self.refused

    @property
    def has_no_bookmark(self) -> bool:
        """Whether no bookmark of the file was stored or existed already."""
        return not (self.created or self.updated or self.existing)

    @property
    def refusals(self) -> list[Refusal]:
        """The refusals, grouped by reason."""
        return list(self.refusals_by_reason.values())

    @property
    def left_out_counts(self) -> list[dict[str, Any]]:
        """The names and counts of what is left out, the most frequent first."""
        return [
            {"name": name, "count": count}
            for name, count in self.left_out.most_common()
        ]

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
        if self.left_out:
            names = ", ".join(
                f"{name} ({count})" for name, count in self.left_out.most_common()
            )
            yield _(
                "Not imported, with the number of bookmarks that have it: %(names)s."
            ) % {"names": names}
