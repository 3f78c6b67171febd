"""Split HTML into tags and text as browsers do, in constant memory and linear time, and decode character references.

https://html.spec.whatwg.org/multipage/parsing.html#tokenization
"""

import re
from collections.abc import Iterator
from html import unescape
from html.entities import html5
from typing import TextIO

from django.utils.translation import gettext as _

from usergroups.contract.requests import CHUNK_SIZE

MAX_TAG_LENGTH = 256 * 1024  # characters; a tag may contain an icon

ATTRIBUTE = r"""
    ({name}[^\t\n\f\r\ /> ][^\t\n\f\r\ />=]*+)
    (?:
        [\t\n\f\r\ ]*+ = [\t\n\f\r\ ]*+ ({value}"[^"]*+"|'[^']*+'|[^\t\n\f\r\ >"'][^\t\n\f\r\ >]*+|(?=>))
        | (?![\t\n\f\r\ ]*+=)
    )"""
"""The pattern of an attribute. ``format()`` makes its two groups capture text (``?P<name>``) or not (``?:``)."""
TAG = re.compile(
    rf"""
    <(?P<slash>/?)(?P<tag>[a-zA-Z][^\t\n\f\r\ />]*+)
    (?P<attributes>(?:[\t\n\f\r\ /]++|{ATTRIBUTE.format(name="?:", value="?:")})*+)>
    """,
    re.VERBOSE,
)
ATTRIBUTES = re.compile(ATTRIBUTE.format(name="?P<name>", value="?P<value>"), re.VERBOSE)
MARKUP = re.compile(r"<(?:[a-zA-Z!?/]|\Z)")  # A "<" at the end of the buffer may begin a tag.
BEGINNING_OF_TAG = re.compile(r"</?[a-zA-Z]")

END_OF_COMMENT = re.compile(r"-->|(?s:..)--!>")  # searched after "<!": "<!-->" ends at once, "<!--!>" does not
END_OF_BOGUS_COMMENT = re.compile(">")


class HtmlTokenizer:
    """Yields each run of text, each tag as a match of TAG, and a ValueError for what cannot be read.

    It reads like a browser's tokenizer, except where that could swallow the rest of a file: in a title, heading or
    description (see ``is_in_text``), a comment ends at the first ``>``, and the contents of ``script``, ``title`` and
    the like are read like those of other elements.
    """

    def __init__(self, file: TextIO) -> None:
        self.file = file
        self.line = 1
        """The number of the line on which the last token begins."""
        self.is_in_text = False
        """Whether a title, heading or description is being read. The caller sets it."""
        self.skip_until: re.Pattern[str] | None = None
        """The end of the comment that is being skipped."""
        self.skipped_line = 0
        """The number of the line on which that comment begins."""

    def __iter__(self) -> Iterator[str | re.Match[str] | ValueError]:
        buffer = ""
        while chunk := self.file.read(CHUNK_SIZE):
            buffer, position = buffer + chunk, 0
            while position < len(buffer) and (token := self.read_token(buffer, position)):
                content, end = token
                if content:
                    yield content
                self.line += buffer.count("\n", position, end)
                position = end
            buffer = buffer[position:]
            if len(buffer) > MAX_TAG_LENGTH:
                yield ValueError(_("A tag is longer than %(max)s characters.") % {"max": MAX_TAG_LENGTH})
                self.line += buffer.count("\n")
                buffer = ""
        if self.skip_until is not None:
            self.line = self.skipped_line
            yield ValueError(_("A comment begins here and does not end, so the rest of the file cannot be read."))
        elif BEGINNING_OF_TAG.match(buffer):
            yield ValueError(_("The file ends within a tag."))
        elif buffer:
            yield buffer

    def read_token(self, buffer: str, start: int) -> tuple[str | re.Match[str], int] | None:
        """Return the token at ``start``, or "" in a comment, and the position of its end. None if it is incomplete."""
        if self.skip_until is not None:
            if found := self.skip_until.search(buffer, start):
                self.skip_until = None
                return "", found.end()
            end = len(buffer) - len("..--!")  # The rest may be the beginning of the end of the comment.
            return ("", end) if end > start else None
        markup = MARKUP.search(buffer, start)
        end = markup.start() if markup else len(buffer)
        if end > start:
            return buffer[start:end], end
        if tag := TAG.match(buffer, start):
            return tag, tag.end()
        if len(buffer) - start < len("<!--") or BEGINNING_OF_TAG.match(buffer, start):
            return None
        is_comment = buffer.startswith("<!--", start) and not self.is_in_text
        self.skip_until, self.skipped_line = END_OF_COMMENT if is_comment else END_OF_BOGUS_COMMENT, self.line
        return "", start + len("<!")


def attributes(tag: re.Match[str]) -> dict[str, str]:
    """Return the attributes of a tag by name. The first of several with the same name counts."""
    values: dict[str, str] = {}
    for attribute in ATTRIBUTES.finditer(tag["attributes"] + ">"):  # because an empty value is recognized by the ">"
        value = attribute["value"] or ""
        if value[:1] in ("'", '"'):
            value = value[1:-1]
        values.setdefault(attribute["name"].lower(), decode(value, in_attribute=True).replace("\0", "\ufffd"))
    return values


# Character references, as specified in https://html.spec.whatwg.org/multipage/parsing.html#character-reference-state
#
# A number of more than 9 digits is not decoded, because Python's html.unescape() fails on more than 4,300 digits. It
# could only be a character with leading zeros. A name has at most 32 characters.

REFERENCE = re.compile(
    r"&(?:#\d{1,9}(?!\d);?|#[xX][\da-fA-F]{1,9}(?![\da-fA-F]);?|[a-zA-Z][a-zA-Z\d]{1,31};?)", re.ASCII
)


def decode(text: str, in_attribute: bool = False) -> str:
    """Decode the character references in a text or in the value of an attribute.

    In an attribute, a name without a semicolon before "=", a letter or a digit is not a character reference. REFERENCE
    matches such letters and digits as part of the name, which is then not in ``html5``.
    """

    def decoded(found: re.Match[str]) -> str:
        name = found[0][1:]
        is_literal = name[0] != "#" and (text[found.end() : found.end() + 1] == "=" or name not in html5)
        return found[0] if in_attribute and not name.endswith(";") and is_literal else unescape(found[0])

    return REFERENCE.sub(decoded, text) if "&" in text else text
