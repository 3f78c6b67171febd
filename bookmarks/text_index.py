"""The optional trigram index of PostgreSQL on the URLs and titles of bookmarks. docs/measurements.md has its SQL.

The index finds rare texts among any number of bookmarks. It does not have the order of a list: PostgreSQL reads and
sorts all matches, which takes long if there are many. A page therefore searches the next bookmarks of the list first,
which finds a common text, and uses the index only if that is not enough, with a time limit.
"""

import re
from typing import Any

from django.db import OperationalError, connections, transaction
from django.db.models import Q, QuerySet

from usergroups.database_errors import is_canceled

NAME = "bookmarks_by_text"
SETTINGS = {
    "statement_timeout": "100ms",
    # Prevent PostgreSQL from reading the list in its order, which seems cheaper if it overestimates the matches.
    "enable_indexscan": "off",
    "enable_seqscan": "off",
}
CURRENT = ", ".join(f"current_setting('{name}')" for name in SETTINGS)
STATE = f"SELECT {CURRENT} FROM pg_index WHERE indexrelid = to_regclass(%s) AND indisvalid"  # noqa: S608
CHANGE = "SELECT {}".format(", ".join(f"set_config('{name}', %s, true)" for name in SETTINGS))


def supports(text: str) -> bool:
    """Return whether the text has three letters or digits in a row. The index does not help to find another one."""
    return re.search(r"[^\W_]{3}", text) is not None


def find(rows: QuerySet[Any], number: int, *, condition: Q) -> list[Any] | None:
    """Return up to ``number`` matches in the order of ``rows``, or None without an index or after the time limit."""
    rows = rows.using(rows.db)  # A router may choose another database each time.
    connection = connections[rows.db]
    if connection.vendor != "postgresql":
        return None
    with connection.cursor() as cursor:
        cursor.execute(STATE, [NAME])
        state = cursor.fetchone()
        if state is None:
            return None
        try:
            with transaction.atomic(using=rows.db):
                cursor.execute(CHANGE, [*SETTINGS.values()])
                found = list(rows.filter(condition)[:number])
                cursor.execute(CHANGE, state)  # The transaction may continue.
                return found
        except OperationalError as error:
            if is_canceled(error):
                return None
            raise
