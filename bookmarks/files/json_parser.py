"""Parse JSON (RFC 8259) from a stream, piece by piece.

The caller decides for each value whether to keep it, so that a file of any size takes constant memory.
"""

import json
import re
from collections.abc import Container, Iterator
from typing import Any

from django.utils.translation import gettext as _

from .json_tokens import CHARACTERS, OTHER_SCALAR, OUTSIDE_STRINGS, STRING, InvalidJson, JsonTokenizer

MAX_DEPTH = 2000

FLAT_PARTS = rf"{OUTSIDE_STRINGS}|\"{CHARACTERS}\"|\[(?>(?:{OUTSIDE_STRINGS}|\"{CHARACTERS}\")*)\]"
FLAT_OBJECT = re.compile(rf"\{{(?>(?:{FLAT_PARTS}|\{{(?>(?:{FLAT_PARTS})*)\}})*)\}}", re.DOTALL)
"""An object that contains neither arrays of objects or arrays, nor objects of objects."""


class JsonParser(JsonTokenizer):
    """A parser whose methods read the parts of a value from the place that has been reached.

    They raise InvalidJson. Like the ``json`` module, they accept ``NaN`` and control characters, and return lone
    surrogates as such.
    """

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
