"""The settings of the app, read at call time so that ``override_settings`` works."""

from django.conf import settings


def max_import_size() -> int:
    """Return the maximum size of a file to import over HTTP in bytes, the setting ``BOOKMARKS_MAX_IMPORT_SIZE``.

    A compressed file must not be larger after it is decompressed either.
    """
    size: int = getattr(settings, "BOOKMARKS_MAX_IMPORT_SIZE", 8 * 1024 * 1024)
    return size
