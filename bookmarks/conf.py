"""The settings of the app, read at call time so that ``override_settings`` works, and their system check."""

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, register

from usergroups.checks import is_integer


def max_import_size() -> int:
    """Return the maximum size of a file to import over HTTP in bytes, the setting ``BOOKMARKS_MAX_IMPORT_SIZE``.

    A compressed file must not be larger after it is decompressed either.
    """
    size: int = getattr(settings, "BOOKMARKS_MAX_IMPORT_SIZE", 8 * 1024 * 1024)
    return size


@register
def check_import_size(**kwargs: Any) -> list[CheckMessage]:
    """Return an error if the maximum size of a file to import is invalid."""
    if is_integer(max_import_size(), 1):
        return []
    return [
        Error(
            "BOOKMARKS_MAX_IMPORT_SIZE is not a positive integer.",
            hint="Set it to a number of bytes, or remove it to use the default of 8 MiB.",
            id="bookmarks.E001",
        )
    ]
