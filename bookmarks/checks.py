"""System checks of the settings and the database."""

from collections.abc import Sequence
from typing import Any

from django.core import checks
from django.db import connections, router

from usergroups.checks import is_integer

from . import conf
from .distribution import DISTRIBUTED, REFERENCE, Schema
from .models import Bookmark


@checks.register
def check_import_size(**kwargs: Any) -> list[checks.CheckMessage]:
    """Return an error if the maximum size of a file to import is invalid."""
    if is_integer(conf.max_import_size(), 1):
        return []
    return [
        checks.Error(
            "BOOKMARKS_MAX_IMPORT_SIZE is not a positive integer.",
            hint="Set it to a number of bytes, or remove it to use the default of 256 MiB.",
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
        if router.allow_migrate_model(alias, Bookmark) and _is_undistributed(alias)
    ]


def _is_undistributed(alias: str) -> bool:
    connection = connections[alias]
    if connection.vendor != "postgresql":
        return False
    schema = Schema(connection)
    return schema.is_migrated() and schema.has_citus() and not {*REFERENCE, *DISTRIBUTED} <= schema.on_citus()
