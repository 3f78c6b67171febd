"""The tokens of JSON (RFC 8259) in a stream."""

import json
import re
from typing import Any, TextIO

from django.utils.translation import gettext as _

CHUNK_SIZE = 64 * 1024  # characters
MAX_STRING = 100_001  # characters that are kept; more than any value of a bookmark may have

# Atomic groups and not possessive repeats of groups, which Python 3.11 before 3.11.5 gets wrong.
CHARACTERS = r"(?>(?:[^\"\\]++|\\.)*)"
OUTSIDE_STRINGS = r"[^\"\[\]{}]++"
WHITE_SPACE = " \t\n\r"

CHARACTERS_OF_STRING = re.compile(CHARACTERS, re.DOTALL)
TOKEN = re.compile(
    rf"[{WHITE_SPACE}]*+(?:([\[\]{{}}:,])|\"({CHARACTERS})\"|([^\[\]{{}}:,\"{WHITE_SPACE}]++)(?=[\[\]{{}}:,\"{WHITE_SPACE}]))",
    re.DOTALL,
)

STRING, OTHER_SCALAR = '"', "1"
"""Kinds of tokens. The kind of any other token is the token itself."""


class InvalidJson(ValueError):
    """The rest of the file cannot be parsed."""


class JsonTokenizer:
    """Reads one token after another. The methods raise InvalidJson."""

    def __init__(self, text: TextIO) -> None:
        self.text = text
        self.buffer = ""
        self.position = 0
        self.depth = 0
        """The number of arrays and objects that are open."""

    def token(self) -> tuple[str, Any]:
        """Read a token and return its kind and, of a scalar, its value. At the end of the file, the kind is empty."""
        while not (match := TOKEN.match(self.buffer, self.position)):
            if self.is_long_string():
                return STRING, self.long_string()
            if not self.fill():
                if self.depth or self.buffer.strip(WHITE_SPACE):
                    raise InvalidJson(_("it ends too early"))
                return "", None
        self.position = match.end()
        if match.lastindex == 1:
            return match[1], None
        try:
            if match.lastindex == 2:
                string = match[2]
                return STRING, json.loads(f'"{string}"', strict=False) if "\\" in string else string
            return OTHER_SCALAR, _scalar(match[3])
        except ValueError:
            raise InvalidJson(_("%(text)s is not JSON") % {"text": match[0].strip()[:100]}) from None

    def fill(self) -> bool:
        """Read more text, and return whether there may be more tokens."""
        rest = self.buffer[self.position :].lstrip(WHITE_SPACE)
        if len(rest) > MAX_STRING and not rest.startswith(STRING):
            raise InvalidJson(_("%(text)s is not JSON") % {"text": rest[:100]})
        chunk = self.text.read(CHUNK_SIZE)
        # White space ends a scalar at the end of the file.
        is_new = bool(chunk) or not self.buffer.endswith("\n")
        self.buffer, self.position = rest + (chunk or "\n"), 0
        return is_new

    def is_long_string(self) -> bool:
        return len(self.buffer) - self.position > MAX_STRING and self.buffer.startswith(STRING, self.position)

    def long_string(self) -> str:
        """Read a string that is too long, and return its beginning as it is written."""
        self.position += 1
        beginning = self.buffer[self.position : self.position + MAX_STRING]
        while True:
            match = CHARACTERS_OF_STRING.match(self.buffer, self.position)
            self.position = match.end() if match else self.position
            if self.buffer.startswith(STRING, self.position):
                self.position += 1
                return beginning
            chunk = self.text.read(CHUNK_SIZE)
            if not chunk:
                raise InvalidJson(_("it ends too early"))
            self.buffer, self.position = self.buffer[self.position :] + chunk, 0


def _scalar(literal: str) -> Any:
    try:
        return json.loads(literal)
    except json.JSONDecodeError:
        raise
    except ValueError:  # an integer with more than 4,300 digits
        return float("inf")
