"""Parse JSON (RFC 8259) from a stream, piece by piece.

The caller decides for each value whether to keep it, so that a file of any size takes constant memory.
"""

import json
import re
from collections.abc import Container, Iterator
from typing import Any, TextIO

from django.utils.translation import gettext as _

CHUNK_SIZE = 64 * 1024  # characters
MAX_STRING = 100_001  # characters that are kept; more than any value of a bookmark may have
MAX_DEPTH = 2000

# Atomic groups and not possessive repeats of groups, which Python 3.11 before 3.11.5 gets wrong.
CHARACTERS = r"(?>(?:[^\"\\]++|\\.)*)"
OUTSIDE_STRINGS = r"[^\"\[\]{}]++"
WHITE_SPACE = " \t\n\r"

CHARACTERS_OF_STRING = re.compile(CHARACTERS, re.DOTALL)
TOKEN = re.compile(
    rf"[{WHITE_SPACE}]*+(?:([\[\]{{}}:,])|\"({CHARACTERS})\"|([^\[\]{{}}:,\"{WHITE_SPACE}]++)(?=[\[\]{{}}:,\"{WHITE_SPACE}]))",
    re.DOTALL,
)
FLAT_PARTS = rf"{OUTSIDE_STRINGS}|\"{CHARACTERS}\"|\[(?>(?:{OUTSIDE_STRINGS}|\"{CHARACTERS}\")*)\]"
FLAT_OBJECT = re.compile(rf"\{{(?>(?:{FLAT_PARTS}|\{{(?>(?:{FLAT_PARTS})*)\}})*)\}}", re.DOTALL)
"""An object that contains neither arrays of objects or arrays, nor objects of objects."""

STRING, OTHER_SCALAR = '"', "1"
"""Kinds of tokens. The kind of any other token is the token itself."""


class InvalidJson(ValueError):
    """The rest of the file cannot be parsed."""


class JsonParser:
    """A parser whose methods read the parts of a value from the place that has been reached.

    They raise InvalidJson. Like the ``json`` module, they accept ``NaN`` and control characters, and return lone
    surrogates as such.
    """

    def __init__(self, text: TextIO) -> None:
        self.text = text
        self.buffer = ""
        self.position = 0
        self.depth = 0

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

    def members(self) -> Iterator[tuple[str, str, Any]]:
        """Yield each key of an object with the first token of its value, which the caller must read to its end.

        The opening brace has been read.
        """
        for kind, key in self.parts("}"):
            if kind != STRING or self.token()[0] != ":":
                raise InvalidJson(_("a key is missing"))
            yield (key, *self.token())

    def parts(self, end: str) -> Iterator[tuple[str, Any]]:
        """Yield the first token of each part of an array or object up to the bracket that ends it."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise InvalidJson(_("it is nested deeper than %(levels)s levels") % {"levels": MAX_DEPTH})
        kind, value = self.token()
        while kind != end:
            yield kind, value
            separator, _value = self.token()
            if separator == end:
                break
            if separator != ",":
                raise InvalidJson(_("a comma is missing"))
            kind, value = self.token()
            if kind == end:
                raise InvalidJson(_("a value is missing"))
        self.depth -= 1

    def inside(self, kind: str) -> Iterator[tuple[Any, ...]]:
        """Return the parts of an array, or the members of an object, whose opening bracket has been read."""
        if kind == "[":
            return self.parts("]")
        if kind == "{":
            return self.members()
        raise InvalidJson(_("a value is missing"))

    def skip(self, kind: str, keys: Container[str] = ()) -> tuple[bool, bool]:
        """Read an array or object whose opening bracket has been read.

        Return whether it has parts, and whether it or one of its parts has one of the keys.
        """
        has_parts = has_key = False
        levels = [self.inside(kind)]
        while levels:
            part = next(levels[-1], None)
            if part is None:
                levels.pop()
                continue
            has_parts = True
            *key, inner, _scalar = part
            has_key = has_key or (bool(key) and key[0] in keys)
            if inner not in (STRING, OTHER_SCALAR):
                levels.append(self.inside(inner))
        return has_parts, has_key

    def flat_object(self, excluded: frozenset[str]) -> dict[str, Any] | None:
        """Read the object whose opening brace has been read at once, or return None if it is not a simple one.

        An object that has a value, except an empty one, for one of the excluded keys is not simple.
        """
        match = FLAT_OBJECT.match(self.buffer, self.position - 1)
        if match is None:
            return None
        try:
            value: dict[str, Any] = json.loads(match[0], strict=False)
        except ValueError:
            return None
        if not excluded.isdisjoint(value) and any(value.get(key) for key in excluded):
            return None
        self.position = match.end()
        return value


def _scalar(literal: str) -> Any:
    try:
        return json.loads(literal)
    except json.JSONDecodeError:
        raise
    except ValueError:  # an integer with more than 4,300 digits
        return float("inf")
