"""Files of bookmarks: what browsers and services export, and what this service does."""

from pathlib import PurePath

from . import comma_separated, jsonl, netscape

FORMATS = {"html": netscape, "jsonl": jsonl, "csv": comma_separated}
"""Each has ``read(file)``, which yields records, and ``write(bookmarks)``, which yields text; memory is constant."""


def format_of(name: str) -> str | None:
    """Return the format of a file of this name, or None if its ending does not tell."""
    ending = PurePath(name).suffix[1:].lower()
    ending = {"htm": "html"}.get(ending, ending)
    return ending if ending in FORMATS else None
