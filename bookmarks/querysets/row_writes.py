"""Writes of the rows of bookmarks, which announce what they have written."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias
from uuid import UUID

from django.db import connections
from django.utils import timezone

from usergroups import signals
from usergroups.db.announcements import announce, announce_update
from usergroups.models import UserGroup

from .statements import insert_rows
from .unique_keys import Row, UniqueKey, UniqueKeyManager

if TYPE_CHECKING:
    from bookmarks.models import Bookmark

MAX_MISSED = 20_000
"""The number of changes since PostgreSQL analyzed the table.

If its statistics miss a user group, each list of keys reads all rows of the
group: 5,000 in 2 ms.
"""

Changes: TypeAlias = Mapping[str, Any]
"""New values of a bookmark, by the names of their fields."""


class RowManager(UniqueKeyManager):
    """Inserts and updates the rows of a user group's bookmarks."""

    def insert_new(self, user_group: UserGroup, rows: Sequence[Row]) -> set[UUID]:
        """Insert the rows whose unique keys no bookmark of the user group has,
        announce the new bookmarks, and return their ids.

        Call this in a transaction, unless there is only one row.
        """
        inserted = insert_rows(self, user_group, rows)
        if signals.created.has_listeners(self.model):
            created = [row for row in rows if row["id"] in inserted]
            bookmarks = [self._instance(user_group, row) for row in created]
            announce(signals.created, bookmarks, self.db)
        return inserted

    def _instance(self, user_group: UserGroup, row: Row) -> "Bookmark":
        """Return the stored bookmark of a row."""
        return self._saved(self.model(user_group=user_group, **row))

    def _saved(self, bookmark: "Bookmark") -> "Bookmark":
        """Return the bookmark in the state of one that Django has saved."""
        bookmark._state.adding = False
        bookmark._state.db = self.db
        return bookmark

    def _update_locked(
        self,
        user_group: UserGroup,
        locked: Mapping[UniqueKey, Row],
        wanted: Mapping[UniqueKey, Changes],
    ) -> set[UniqueKey]:
        """Update those locked bookmarks and their rows for which ``wanted`` has
        other values, and return their keys.
        """
        now = timezone.now()
        changed = set()
        # One signal announces the bookmarks of which the same fields change.
        by_names: dict[frozenset[str], list[Row]] = defaultdict(list)
        for key, values in wanted.items():
            if key not in locked:
                continue
            row = locked[key]
            new = {name for name, value in values.items() if row[name] != value}
            if new:
                row.update(values, updated_at=now)
                by_names[frozenset(new)].append(row)
                changed.add(key)
        for names, rows in by_names.items():
            insert_rows(self, user_group, rows, [*sorted(names), "updated_at"])
            if signals.updated.has_listeners(self.model):
                bookmarks = [self._instance(user_group, row) for row in rows]
                announce_update(bookmarks, self.db, names)
        return changed

    def analyze_if_outdated(self) -> None:
        """Update PostgreSQL's statistics if they miss more than MAX_MISSED
        changes, unless a vacuum runs.

        This reads a sample of fixed size, in one to two seconds.
        """
        connection = connections[self.db]
        if connection.vendor != "postgresql":
            return
        table = connection.ops.quote_name(self.model._meta.db_table)
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT pg_stat_get_mod_since_analyze(%s::regclass)", [table]
            )
            [(missed,)] = cursor.fetchall()
            if missed > MAX_MISSED:
                cursor.execute(f"ANALYZE (SKIP_LOCKED) {table}")
