"""System checks of the settings."""

from typing import Any

from django.core import checks

from usergroups.checks import is_integer

from . import conf


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
