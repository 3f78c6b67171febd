"""System checks of the settings and the database."""

from collections.abc import Sequence
from typing import Any

from django.core import checks
from django.db import connections, router
from django.db.backends.base.base import BaseDatabaseWrapper

from usergroups.checks import is_integer

from . import conf
from .models import Bookmark


@checks.register
def check_import_size(**kwargs: Any) -> list[checks.CheckMessage]:
    """Return an error if the maximum size of a file to import is invalid."""
    if is_integer(conf.max_import_size(), 1):
        return []
    return [
        checks.Error(
            "BOOKMARKS_MAX_IMPORT_SIZE is not a positive integer.",
            hint="Set it to a number of bytes, or remove it to use the default of 8 MiB.",
            id="bookmarks.E001",
        )
    ]


@checks.register(checks.Tags.database)
def check_distribution(databases: Sequence[str] | None = None, **kwargs: Any) -> list[checks.CheckMessage]:
    """Return a warning for each database that has Citus and whose tables are not distributed."""
    return [
        checks.Warning(
            f"The database {alias!r} has Citus, but the tables of the bookmarks are not distributed.",
            hint="Run manage.py distribute.",
            id="bookmarks.W001",
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
