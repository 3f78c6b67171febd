"""The limits of a search: the texts that are searched for, and the time that PostgreSQL takes."""

from typing import Any

from django.db import OperationalError, connections, models, transaction
from django.utils.translation import gettext as _

from usergroups.database_errors import is_canceled

MAX_LENGTH = 10_000  # characters; a URL has up to 8,000
TIME_LIMIT = "1s"  # of the search in one model, on PostgreSQL


def problem_of(text: str) -> str:
    """Return why nothing can be found by the text, or an empty text."""
    if not text:
        return _("Enter what to look for.")
    if len(text) > MAX_LENGTH:
        return _("The text is too long.")
    if "\0" in text or text.encode(errors="replace").decode() != text:  # a lone surrogate
        return _("The text contains invalid characters.")
    return ""


def first_rows(rows: models.QuerySet[Any]) -> list[Any] | None:
    """Return the rows, or None if PostgreSQL takes too long to find them."""
    if connections[rows.db].vendor != "postgresql":
        return list(rows)
    try:
        with transaction.atomic(using=rows.db), connections[rows.db].cursor() as cursor:
            cursor.execute("SELECT set_config('statement_timeout', %s, true)", [TIME_LIMIT])
            found = list(rows)
            transaction.set_rollback(True, using=rows.db)  # restores the time limit of an outer transaction
            return found
    except OperationalError as error:
        if is_canceled(error):
            return None
        raise
