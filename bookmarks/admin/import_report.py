"""The report of an import that the admin shows."""

from dataclasses import dataclass
from urllib.parse import quote

from django.utils.text import capfirst

from bookmarks.import_report import Report, positions, refused_lines
from usergroups.models import UserGroup


@dataclass(kw_only=True)
class DetailedReport(Report):
    """A report that also says what was imported."""

    user_group: UserGroup
    format_name: str
    dry_run: bool

    @property
    def written(self) -> int:
        """How many bookmarks are new or updated."""
        return self.created + self.updated

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
        text = quote(refused_lines(self.refused_records))
        return f"data:text/csv;charset=utf-8,{text}"
