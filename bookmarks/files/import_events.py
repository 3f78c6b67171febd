"""Events that tell of imports and exports."""

import logging
from collections.abc import Iterable

from django.db import Error, router, transaction
from django.utils.translation import gettext_noop

from bookmarks.models import Bookmark
from usergroups.csv_cells import csv_line
from usergroups.db.waiting import atomic_without_waiting
from usergroups.events import MAX_TEXT, Event, Kind, new_events, record
from usergroups.models import UserGroup

from .report import RefusedRecord, Report, printable

logger = logging.getLogger(__name__)

# The keys of the numbers.
NEW = gettext_noop("new")
UPDATED = gettext_noop("updated")
EXISTING = gettext_noop("already existed")
REFUSED = gettext_noop("refused")


def record_import(user_group: UserGroup, report: Report, using: str) -> None:
    """Record what was imported, unless the file contained nothing.

    A database error is logged. What was imported remains.
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
    try:
        # In an outer transaction, an error only ends a savepoint.
        with transaction.atomic(using):
            record(events, using)
    except Error:
        logger.warning("Could not record an import.", exc_info=True)


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


def record_export(user_group: UserGroup, file_format: str, **fields: str) -> None:
    """Record that the bookmarks of a user group were exported.

    This does not wait, because an export only reads. A database error is
    logged.
    """
    numbers = {user_group.pk: 1}
    events = new_events(
        Kind.EXPORTED, Bookmark, numbers, counts={}, text=file_format.upper(), **fields
    )
    try:
        with atomic_without_waiting(router.db_for_write(Event)):
            record(events)
    except Error:
        logger.warning("Could not record an export.", exc_info=True)
