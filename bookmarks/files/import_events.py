"""Events that tell of imports and exports."""

from collections.abc import Iterable
from contextlib import suppress

from django.db import Error
from django.utils.translation import gettext_noop

from bookmarks.models import Bookmark
from usergroups.csv_cells import csv_line
from usergroups.events import MAX_TEXT, Kind, new_events, record
from usergroups.models import UserGroup

from .report import RefusedRecord, Report, printable

# The keys of the numbers.
NEW = gettext_noop("new")
UPDATED = gettext_noop("updated")
EXISTING = gettext_noop("already existed")
REFUSED = gettext_noop("refused")


def record_import(user_group: UserGroup, report: Report, using: str) -> None:
    """Record what was imported, unless the file contained nothing.

    If the database fails, the import is not recorded.
    """
    if report.is_of_nothing:
        return
    fields = {}
    # Otherwise, it is an operator or a token.
    if report.importer:
        fields["actor"] = report.importer
    counts = {
        NEW: report.created,
        UPDATED: report.updated,
        EXISTING: report.existing,
        REFUSED: report.refused,
    }
    events = new_events(
        Kind.IMPORTED,
        Bookmark,
        {user_group.pk: 1},
        counts=counts,
        text=printable(report.file_name)[:MAX_TEXT],
        refused_lines=refused_lines(report.refused_records),
        **fields,
    )
    with suppress(Error):
        record(events, using)


def refused_lines(records: Iterable[RefusedRecord]) -> str:
    """Return the refused records as CSV with a header, or an empty text if
    there are none.
    """
    lines = [csv_line(map(str, record)) for record in records]
    if not lines:
        return ""
    return "".join([csv_line(RefusedRecord._fields), *lines])


def record_export(user_group: UserGroup, file_format: str, **fields: str) -> None:
    """Record that the bookmarks of a user group were exported."""
    numbers = {user_group.pk: 1}
    events = new_events(
        Kind.EXPORTED, Bookmark, numbers, counts={}, text=file_format.upper(), **fields
    )
    record(events)
