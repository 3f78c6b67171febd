"""The report of an import that the admin shows."""

from dataclasses import dataclass
from urllib.parse import quote

from bookmarks.import_report import Report, refused_lines
from usergroups.admin_tools.event_list import refused_file_name
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
    def refused_file_name(self) -> str:
        return refused_file_name(self.file_name)

    @property
    def refused_csv(self) -> str:
        """A ``data:`` URL that contains a CSV file with the refused records.

        Thus the server does not have to store the file until somebody
        downloads it.
        """
        text = quote(refused_lines(self.refusals))
        return f"data:text/csv;charset=utf-8,{text}"
