"""Import and export of bookmarks as files, in the formats of browsers, other services and this one."""

from pathlib import PurePath

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from . import comma_separated, json_bookmarks, jsonl, netscape
from .report import Refusal

EXPORT_FORMATS = {"html": netscape, "jsonl": jsonl, "csv": comma_separated}
"""The module of each format that can be written. ``write(bookmarks)`` yields text, in constant memory."""

FORMATS = {**EXPORT_FORMATS, "json": json_bookmarks}
"""The module of each format that can be read. ``read(file, encoding)`` yields records, in constant memory."""

MEDIA_TYPES = {"html": "text/html", "jsonl": "application/jsonl", "csv": "text/csv", "json": "application/json"}

FORMATS_BY_TYPE = {
    **{media_type: name for name, media_type in MEDIA_TYPES.items()},
    "application/x-ndjson": "jsonl",
    "application/jsonlines": "jsonl",
}
"""The format of each media type, including the media types that only other programs use."""

ANY_FORMAT = "application/octet-stream"
"""The media type of files in any format."""


def guess_format(file_name: str) -> str | None:
    """Return the format that the file name's extension stands for, or None. ``.gz`` may follow the extension."""
    path = PurePath(file_name.lower().removesuffix(".gz"))
    extension = {"htm": "html"}.get(path.suffix[1:], path.suffix[1:])
    return extension if extension in FORMATS else None


def positions(format_name: str, refusal: Refusal) -> str:
    """Describe for people where in a file of this format the refused records are."""
    if format_name == "json":
        text = ngettext("bookmark %(numbers)s", "bookmarks %(numbers)s", refusal.count)
    else:
        text = ngettext("line %(numbers)s", "lines %(numbers)s", refusal.count)
    numbers, more = ", ".join(map(str, refusal.lines)), refusal.count - len(refusal.lines)
    if more:
        numbers = _("%(numbers)s and %(count)s more") % {"numbers": numbers, "count": more}
    return text % {"numbers": numbers}
