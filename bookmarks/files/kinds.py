"""Recognize what a file is by its beginning, and say what to do with a file
that cannot be read.
"""

import re
from typing import NamedTuple

from .problems import Problem, gettext_noop

SIZE = 1024  # characters of the beginning

EXPORT_HTML = gettext_noop(
    "Export the bookmarks as HTML in the program, and import that file."
)
UNPACK = gettext_noop("Unpack it, and import the file with the bookmarks.")
SAVE_CSV = gettext_noop("Save it as CSV in the spreadsheet, and import that file.")
RESTORE = gettext_noop(
    "In Firefox, open Manage Bookmarks, choose Import and Backup, Export Bookmarks to "
    "HTML, and import that file."
)
EXPORT_AGAIN = gettext_noop("Export the bookmarks again.")
SAVE_TEXT = gettext_noop(
    "Put each URL on a line of its own, and import it as a list of URLs (.txt)."
)


class Kind(NamedTuple):
    """A kind of file."""

    name: str
    # It is searched in the beginning.
    pattern: str
    # What to do with such a file if no bookmarks are found in it.
    advice: str
    # The name of the format that reads it, or an empty string.
    format: str = ""


# The first kind whose pattern matches counts. The bytes of binary files are
# here as characters.
BINARY_KINDS = [
    Kind(
        gettext_noop("a compressed file or an archive"),
        r"\A(\x1f\x8b|BZh[1-9]1AY|\xfd7zXZ\0|\x28\xb5\x2f\xfd|7z\xbc\xaf|Rar!\x1a)",
        UNPACK,
    ),
    Kind(gettext_noop("a backup of Firefox (.jsonlz4)"), r"\AmozLz40\0", RESTORE),
    Kind(
        gettext_noop("a database, such as places.sqlite of Firefox"),
        r"\ASQLite format 3\0",
        EXPORT_HTML,
    ),
    Kind(gettext_noop("a property list (.plist)"), r"\Abplist0", EXPORT_HTML),
    Kind("PDF", r"\A%PDF-", EXPORT_HTML),
    Kind(
        gettext_noop("an image"),
        r"\A(\x89PNG|\xff\xd8\xff|GIF8|RIFF....WEBP)",
        EXPORT_HTML,
    ),
    Kind(
        gettext_noop("an Excel file"),
        # .xls, and the first file in the ZIP that an .xlsx is
        r"\A(\xd0\xcf\x11\xe0|PK\x03\x04[\s\S]{26}(\[Content_Types|_rels/|xl/))",
        SAVE_CSV,
    ),
]
TEXT_KINDS = [
    Kind(gettext_noop("an empty file"), r"\A\s*\Z", EXPORT_AGAIN),
    Kind("XBEL", r"<xbel|<!doctype\s+xbel", EXPORT_HTML, "xbel"),
    Kind("OPML", r"<opml", EXPORT_HTML),
    Kind(gettext_noop("a property list (.plist)"), r"<!doctype\s+plist", EXPORT_HTML),
    Kind("XML", r"<\?xml", EXPORT_HTML),
    Kind(gettext_noop("a hotlist of Opera (.adr)"), r"opera hotlist", EXPORT_HTML),
    Kind("HTML", r"<(!doctype|html|head|meta|title|h1|dl|a)\b", EXPORT_HTML, "html"),
    Kind("JSON Lines", r"\A\s*\{.*\}\s*\n\s*\{", EXPORT_HTML, "jsonl"),
    Kind("JSON", r"\A\s*(\[\s*[\[{\]\"]|\{)", EXPORT_HTML, "json"),
    Kind("Org", r"^#\+\w+:|\[\[https?:", SAVE_TEXT),
    Kind(
        gettext_noop("a list of URLs"),
        r"\A\s*([-*+] |\d+[.)] )?(<?\w+://|\[[^\]\n]*\]\()",
        EXPORT_HTML,
        "txt",
    ),
    Kind("Markdown", r"^#+ |\]\(\w+:|^```", SAVE_TEXT, "txt"),
    Kind("CSV", r"\A\s*[^\n]*[,;\t]|\A\s*(url|uri|href|link)\s", EXPORT_HTML, "csv"),
]
PLAIN_TEXT = Kind(gettext_noop("plain text"), "", EXPORT_HTML)


def kind_of(beginning: bytes) -> Kind:
    """Return the kind of a file that begins with these bytes."""
    encoding = "utf-16" if beginning.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8"
    text = beginning[:SIZE].decode(encoding, "replace").removeprefix("\ufeff")
    return binary_kind(beginning) or _first(TEXT_KINDS, text) or PLAIN_TEXT


def binary_kind(beginning: bytes) -> Kind | None:
    """Return the kind of a binary file, or None."""
    return _first(BINARY_KINDS, beginning.decode("latin-1"))


def _first(kinds: list[Kind], text: str) -> Kind | None:
    for kind in kinds:
        if re.search(kind.pattern, text, re.IGNORECASE | re.MULTILINE):
            return kind
    return None


def refusal(kind: Kind, file_format: str = "") -> Problem:
    """Return why a file of this kind cannot be read in this format, and what
    to do.
    """
    advice = kind.advice
    if file_format and kind.format not in ("", file_format):
        advice = gettext_noop("Import it in the format %(format)s.", format=kind.format)
    return gettext_noop(
        "No bookmarks found. The file looks like %(kind)s. %(advice)s",
        kind=kind.name,
        advice=advice,
    )
