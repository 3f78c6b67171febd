"""Split HTML into tags and text as browsers do, in constant memory and linear time, and decode character references.

https://html.spec.whatwg.org/multipage/parsing.html#tokenization
"""

import re
from html import unescape
from html.entities import html5

from django.utils.translation import gettext as _

MAX_TAG_LENGTH = 256 * 1024  # characters; a tag may contain an icon
LONGEST_DELIMITER = 16  # characters

ATTRIBUTE = r"""
    ({name}[^\t\n\f\r\ /> ][^\t\n\f\r\ />=]*+)
    (?:
        [\t\n\f\r\ ]*+ = [\t\n\f\r\ ]*+ ({value}"[^"]*+"|'[^']*+'|[^\t\n\f\r\ >"'][^\t\n\f\r\ >]*+|(?=>))
        | (?![\t\n\f\r\ ]*+=)
    )"""
TAG = re.compile(
    rf"""
    <(?P<slash>/?)(?P<tag>[a-zA-Z][^\t\n\f\r\ />]*+)
    (?P<attributes>(?:[\t\n\f\r\ /]++|{ATTRIBUTE.format(name="?:", value="?:")})*+)>
    """,
    re.VERBOSE,
)
ATTRIBUTES = re.compile(ATTRIBUTE.format(name="?P<name>", value="?P<value>"), re.VERBOSE)
MARKUP = re.compile(r"<(?:[a-zA-Z!?/]|\Z)")
BEGINNING_OF_TAG = re.compile(r"</?[a-zA-Z]")
BEGINNING_OF_COMMENT = re.compile(r"<[!?/]")

END_OF_COMMENT = re.compile(r"-->|(?s:.)--!>")
END_OF_BOGUS_COMMENT = re.compile(">")
END_OF_CONTENT = {tag: re.compile(rf"(?=</{tag}[\t\n\f\r />])", re.IGNORECASE) for tag in ("script", "style")}


class HtmlTokenizer:
    """Calls a method for each piece of text and each tag.

    It reads like a browser's tokenizer, except where that could swallow the rest of a file:

    - What ``is_in_text`` says is text has no comments that may contain ``>``.
    - The content of ``script`` and ``style`` is skipped only if the subclass sets ``skip_until``. Tags in ``title``,
      ``textarea`` and the like are tags.
    """

    def __init__(self) -> None:
        self.buffer = ""
        self.position = 0
        """Where in the buffer the next token begins."""
        self.line = 1
        """The number of the line at the position."""
        self.skip_until: re.Pattern[str] | None = None
        """The end of what is being skipped."""
        self.skipped_line = 0
        """The number of the line on which it begins."""

    @property
    def is_in_text(self) -> bool:
        raise NotImplementedError

    def handle_text(self, text: str) -> None:
        """Take a piece of text, which may contain character references."""
        raise NotImplementedError

    def handle_start_tag(self, name: str, tag: re.Match[str]) -> None:
        raise NotImplementedError

    def handle_end_tag(self, name: str) -> None:
        raise NotImplementedError

    def handle_error(self, line: int, reason: str) -> None:
        raise NotImplementedError

    def feed(self, text: str) -> None:
        """Read the next piece of the file, up to a tag that is not complete yet."""
        self.buffer = self.buffer[self.position :] + text
        self.position = 0
        while self.position < len(self.buffer) and self.read_token():
            pass
        if len(self.buffer) - self.position > MAX_TAG_LENGTH:
            self.handle_error(self.line, _("A tag is longer than %(max)s characters.") % {"max": MAX_TAG_LENGTH})
            self.move_to(len(self.buffer))

    def close(self) -> None:
        """Read the end of the file."""
        if self.skip_until is not None:
            reason = _("A comment or script begins here and does not end, so the rest of the file cannot be read.")
            self.handle_error(self.skipped_line, reason)
        elif BEGINNING_OF_TAG.match(self.buffer, self.position):
            self.handle_error(self.line, _("The file ends within a tag."))
        else:
            self.handle_text(self.buffer[self.position :])

    def move_to(self, position: int) -> None:
        self.line += self.buffer.count("\n", self.position, position)
        self.position = position

    def read_token(self) -> bool:
        """Read the token at the position. Return False if it is not complete yet."""
        buffer, start = self.buffer, self.position
        if self.skip_until is not None:
            return self.skip(self.skip_until)
        markup = MARKUP.search(buffer, start)
        end = markup.start() if markup else len(buffer)
        if end > start:
            self.handle_text(buffer[start:end])
            self.move_to(end)
            return True
        if tag := TAG.match(buffer, start):
            if tag["slash"]:
                self.handle_end_tag(tag["tag"].lower())
            else:
                self.handle_start_tag(tag["tag"].lower(), tag)
            self.move_to(tag.end())
            return True
        if len(buffer) - start < len("<!--") or BEGINNING_OF_TAG.match(buffer, start):
            return False
        is_comment = buffer.startswith("<!--", start) and not self.is_in_text
        self.skip_until = END_OF_COMMENT if is_comment else END_OF_BOGUS_COMMENT
        self.skipped_line = self.line
        self.move_to(start + len("<!"))
        return True

    def skip(self, end_of_skipped: re.Pattern[str]) -> bool:
        end = end_of_skipped.search(self.buffer, self.position)
        if end is None:
            self.move_to(max(self.position, len(self.buffer) - LONGEST_DELIMITER))
            return False
        self.skip_until = None
        self.move_to(end.end())
        return True


def attributes(tag: re.Match[str]) -> dict[str, str]:
    """Return the attributes of a tag. The first one with a name counts."""
    values: dict[str, str] = {}
    for attribute in ATTRIBUTES.finditer(tag["attributes"] + ">"):
        value = attribute["value"] or ""
        if value[:1] in ("'", '"'):
            value = value[1:-1]
        values.setdefault(attribute["name"].lower(), decode_attribute(value).replace("\0", "\ufffd"))
    return values


# Character references, by https://html.spec.whatwg.org/multipage/parsing.html#character-reference-state
#
# Python's html.unescape() fails on numbers of more than 4,300 digits, which no character has.

REFERENCE = re.compile(
    r"&(?:#\d{1,9}(?!\d);?|#[xX][\da-fA-F]{1,9}(?![\da-fA-F]);?|[a-zA-Z][a-zA-Z\d]{1,31};?)", re.ASCII
)


def decode_text(value: str) -> str:
    """Decode text outside of tags."""
    return REFERENCE.sub(lambda found: unescape(found[0]), value) if "&" in value else value


def decode_attribute(value: str) -> str:
    """Decode the value of an attribute.

    A name without a semicolon before "=", a letter or a digit is not a character reference.
    """
    return REFERENCE.sub(_decode_in_attribute, value) if "&" in value else value


def _decode_in_attribute(found: re.Match[str]) -> str:
    name = found[0][1:]
    is_literal = not name.endswith(";") and found.string[found.end() : found.end() + 1] == "="
    return found[0] if is_literal or (name[0] != "#" and name not in html5) else unescape(found[0])
