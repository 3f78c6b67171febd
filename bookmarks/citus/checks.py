"""The system check that the tables are distributed."""

from collections.abc import Sequence
from typing import Any

from django.core import checks
from django.db import connections, router
from django.db.backends.base.base import BaseDatabaseWrapper

from bookmarks.models import Bookmark


@checks.register(checks.Tags.database)
def check_distribution(databases: Sequence[str] | None = None, **kwargs: Any) -> list[checks.CheckMessage]:
    """Return a warning for each database that has Citus and whose tables are not distributed."""
    return [
        checks.Warning(
            f"The database {alias!r} has Citus, but the tables of the bookmarks are not distributed.",
            hint="Run manage.py distribute.",
            id="bookmarks_citus.W001",
        )
        for alias in databases or ()
        if router.allow_migrate_model(alias, Bookmark) and _is_undistributed(connections[alias])
    ]


def _is_undistributed(connection: BaseDatabaseWrapper) -> bool:
    return connection.vendor == "postgresql" and is_migrated(connection) and is_distributed(connection) is False


def is_migrated(connection: BaseDatabaseWrapper) -> bool:
    """Return whether the database has the table of bookmarks."""
    return Bookmark._meta.db_table in connection.introspection.table_names()


def is_distributed(connection: BaseDatabaseWrapper) -> bool | None:
    """Return whether Citus has distributed the table of bookmarks, or None if the database has no Citus."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT to_regclass('pg_dist_partition')")
        if cursor.fetchone() == (None,):
            return None
        sql = "SELECT count(*) FROM pg_dist_partition WHERE logicalrelid = %s::regclass"
        cursor.execute(sql, [Bookmark._meta.db_table])
        return bool(cursor.fetchone()[0])
