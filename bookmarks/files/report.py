"""What an import did, for the command, the admin and the API."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from bookmarks.models import MAX_COLLECTION_NAME_LENGTH

from .records import InvalidRecord

MAX_REFUSALS = 100  # in a report of several chunks
MAX_NAMES = 100
MAX_NAME_LENGTH = 255  # characters
OTHER_NAMES = "…"
"""The name under which further names are counted, together, when there are MAX_NAMES others."""


def printable(text: str) -> str:
    """Replace lone surrogates, which stand for bytes that could not be decoded, by escape sequences."""
    return text.encode(errors="backslashreplace").decode()


class NameCounts(Counter[str]):
    """Counts names, which come from a file and may be many and long. Longer names are cut."""

    def add(self, names: Iterable[str], number: int = 1) -> None:
        for name in names:
            if name in self:
                self[name] += number
                continue
            key = printable(name[:MAX_NAME_LENGTH])
            self[key if key in self or len(self) < MAX_NAMES else OTHER_NAMES] += number

    def add_all(self, other: "NameCounts") -> None:
        for name, number in other.items():
            self.add([name], number)


@dataclass
class Report:
    """The result of an import, or of one of its chunks."""

    created: int = 0
    updated: int = 0
    """The number of existing bookmarks whose title or date the import has changed."""
    existing: int = 0
    """The number of existing bookmarks that the import has not changed."""
    refused: int = 0
    refusals: list[InvalidRecord] = field(default_factory=list)
    """All refusals of a chunk, or the first ones of an import."""
    unusable_dates: int = 0
    """The number of bookmarks with a date that stands for no time in the past. They have the date of the import."""
    shortened: int = 0
    """The number of bookmarks and empty collections for which the name of the collection was too long and was cut."""
    left_out: NameCounts = field(default_factory=NameCounts)
    """What the file has and a bookmark has no place for, with the number of bookmarks that have it."""
    collection_deleted: bool = False
    """Whether the given collection has been deleted, so that the last records are in no collection."""
    records: int = 0
    """The number of records that were read, including those of collections."""
    error: str | None = None
    """Why the file could not be read to its end, if that is so."""

    def add(self, chunk: "Report") -> None:
        """Add the report of the next chunk."""
        self.created += chunk.created
        self.updated += chunk.updated
        self.existing += chunk.existing
        self.refused += chunk.refused
        self.refusals += chunk.refusals[: MAX_REFUSALS - len(self.refusals)]
        self.unusable_dates += chunk.unusable_dates
        self.shortened += chunk.shortened
        self.left_out.add_all(chunk.left_out)
        self.collection_deleted = chunk.collection_deleted
        self.records += chunk.records

    @property
    def left_out_counts(self) -> list[dict[str, Any]]:
        """The names and counts of what is left out, the most frequent first."""
        return [{"name": name, "count": count} for name, count in self.left_out.most_common()]

    @property
    def remarks(self) -> Iterator[str]:
        """What people should know besides the counts and the refusals, in sentences."""
        if self.unusable_dates:
            text = ngettext(
                "%(count)d bookmark has a date that cannot be used, and got the date of the import.",
                "%(count)d bookmarks have a date that cannot be used, and got the date of the import.",
                self.unusable_dates,
            )
            yield text % {"count": self.unusable_dates}
        if self.shortened:
            text = ngettext(
                "In %(count)d place, the name of a collection was shortened to %(max)d characters.",
                "In %(count)d places, names of collections were shortened to %(max)d characters.",
                self.shortened,
            )
            yield text % {"count": self.shortened, "max": MAX_COLLECTION_NAME_LENGTH}
        if self.left_out:
            names = ", ".join(f"{name} ({count})" for name, count in self.left_out.most_common())
            yield _("Not imported, with the number of bookmarks that have it: %(names)s.") % {"names": names}
        if self.collection_deleted:
            yield _("The collection was deleted during the import. Later bookmarks are in no collection.")
