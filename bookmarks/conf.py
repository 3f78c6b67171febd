"""The settings of the app, read at call time so that ``override_settings``
works.
"""

from django.conf import settings


def max_import_size() -> int:
    """Return the maximum size of a file to import over HTTP in bytes, which
    also applies to the file in a ZIP.
    """
    size: int = getattr(settings, "BOOKMARKS_MAX_IMPORT_SIZE", 32 * 1024 * 1024)
    return size
