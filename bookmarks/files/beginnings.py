"""Recognize what a file is by its beginning, for the message that it contains
no bookmarks.
"""

import re

from django.utils.translation import gettext as _

# The first pattern that matches counts.
FORMATS_BY_BEGINNING = {
    "XBEL": r"<xbel|<!doctype\s+xbel",
    "OPML": r"<opml",
    "XML": r"<\?xml",
    ".adr": r"opera hotlist",
    "HTML": r"<(!doctype|html|head|meta|title|h1|dl|a)\b",
    "JSON": r"\A\s*[\[{]",
    "CSV": r"\A[^\n]*[,;\t]",
}

SIZE = 1024  # characters


def describe(beginning: str) -> str:
    """Return what a file seems to be whose text begins like this."""
    for name, pattern in FORMATS_BY_BEGINNING.items():
        if re.search(pattern, beginning, re.IGNORECASE):
            return name
    return _("plain text")
