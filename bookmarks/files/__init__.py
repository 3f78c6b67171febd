"""Import and export of bookmarks as files.

The formats are those of browsers, of other bookmark services and of this one.
"""

from pathlib import PurePath

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from . import comma_separated, json_bookmarks, jsonl, netscape
from .report import Refusal

# The module of each format that can be written. ``write(items)`` yields the
# text of a file in constant memory.
EXPORT_FORMATS = {"html": netscape, "jsonl": jsonl, "csv": comma_separated}

# The module of each format that can be read. ``read(text)`` yields the records
# of a seekable text in constant memory.
FORMATS = {**EXPORT_FORMATS, "json": json_bookmarks}

FORMATS_BY_EXTENSION = {
    ".html": "html",
    ".htm": "html",
    ".jsonl": "jsonl",
    ".csv": "csv",
    ".json": "json",
}

MEDIA_TYPES = {
    "html": "text/html",
    "jsonl": "application/jsonl",
    "csv": "text/csv",
    "json": "application/json",
}

FORMATS_BY_TYPE = {
    "text/html": "html",
    "application/jsonl": "jsonl",
    "text/csv": "csv",
    "application/json": "json",
    # Other programs use these media types for JSON Lines.
    "application/x-ndjson": "jsonl",
    "application/jsonlines": "jsonl",
}

# The media type of files in any format.
ANY_FORMAT = "application/octet-stream"


def guess_format(file_name: str) -> str | None:
    """Return the name of the format of a file with this name, or None."""
    path = PurePath(file_name.lower())
    # The file in a profile of Chrome has no extension.
    if path.name == "bookmarks":
        return "json"
    return FORMATS_BY_EXTENSION.get(path.suffix)


def positions(format_name: str, refusal: Refusal) -> str:
    """Describe for people where in a file the refused records are.

    These are the numbers of bookmarks in JSON, and of lines in other formats.
    """
    numbers = ", ".join(map(str, refusal.lines))
    unlisted = refusal.count - len(refusal.lines)
    if unlisted:
        text = _("%(numbers)s and %(count)s more")
        numbers = text % {"numbers": numbers, "count": unlisted}
    if format_name == "json":
        text = ngettext("bookmark %(numbers)s", "bookmarks %(numbers)s", refusal.count)
    else:
        text = ngettext("line %(numbers)s", "lines %(numbers)s", refusal.count)
    return text % {"numbers": numbers}
