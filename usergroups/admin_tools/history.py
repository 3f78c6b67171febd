"""The messages of the history. Like Django's, they are stored in English and translated for display."""

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from django.utils.translation import gettext, gettext_noop

if TYPE_CHECKING:
    from django.contrib.admin.models import LogEntry

MESSAGES = (
    gettext_noop("Issued."),
    gettext_noop("Issued as the successor of %(token)s"),
    gettext_noop("Revoked."),
    gettext_noop("Rotated. Its successor is %(token)s"),
    gettext_noop("Rotated the user group token."),
    gettext_noop("Revealed the user group token."),
    gettext_noop("Imported %(number)s bookmarks."),
    gettext_noop("Imported %(number)s bookmarks and updated %(updated)s."),
)

# Django stores the labels of changed fields, and translates them. makemessages reads this list.
LABELS = (
    gettext_noop("Collection"),
    gettext_noop("Expires"),
    gettext_noop("Mapping"),
    gettext_noop("Name"),
    gettext_noop("Properties"),
    gettext_noop("Title"),
)

PATTERNS = [
    (message, re.compile(re.sub(r"%\\\((\w+)\\\)s", r"(?P<\1>\\S+)", re.escape(message)))) for message in MESSAGES
]


def translate_entries(entries: Iterable["LogEntry"]) -> list["LogEntry"]:
    """Return the entries with the messages above in the active language. Do not save the entries."""
    translated = list(entries)
    for entry in translated:
        for message, pattern in PATTERNS:
            if match := pattern.fullmatch(entry.change_message):
                entry.change_message = gettext(message) % match.groupdict()
    return translated
