"""Import and export of bookmarks as files, in the formats of browsers, other services and this one."""

from pathlib import PurePath

from . import comma_separated, jsonl, netscape

FORMATS = {"html": netscape, "jsonl": jsonl, "csv": comma_separated}
"""The module of each format. ``read(file)`` yields records and ``write(bookmarks)`` yields text, in constant memory."""


def guess_format(file_name: str) -> str | None:
    """Return the format that the file name's extension stands for, or None."""
    extension = PurePath(file_name).suffix[1:].lower()
    extension = {"htm": "html"}.get(extension, extension)
    return extension if extension in FORMATS else None
