"""Decode JSON (RFC 8259), and reject text that a database could not handle."""

import json
import math
import re
from collections.abc import Iterator
from typing import Any, NoReturn

import orjson
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

MAX_DEPTH = 64


MAX_VALUES = 300_000
"""The maximum number of commas and opening brackets outside strings.

It is about the number of values. Decoding 8 MiB of empty lists, which are
2,800,000 values, would take four seconds.
"""


NOT_JSON = gettext_noop("The text is not valid JSON: %(reason)s.")


NUMBER_TOO_LARGE = gettext_noop("The JSON contains a number that is too large.")


DOUBLE_DIGITS = 308  # an integer with up to this many digits never overflows a double


# For bytes.translate: the table changes braces to square brackets, and the
# bytes to delete are all that are not structure.
_SQUARE = bytes.maketrans(b"{}", b"[]")


_NOT_STRUCTURE = bytes(set(range(256)) - set(b'",[]{}'))


_ZEROS_FOR_DIGITS = bytes.maketrans(b"123456789", b"000000000")


# An escape of U+0000 or of half a surrogate pair, unless its backslash is
# escaped.
_SUSPICIOUS_ESCAPE = re.compile(r"\\u(?:0000|[dD][89a-fA-F])")


class TooManyValues(ValueError):
    """The JSON has more than MAX_VALUES values."""


def loads(body: bytes, depth: int = 0) -> Any:
    """Decode the JSON text ``body``.

    ``depth`` is the nesting depth of the place where the value will be stored.

    Raises ValueError, with a message for the client, if the text is not UTF-8
    or not JSON, has more than MAX_VALUES values (TooManyValues), is nested
    deeper than 64, contains U+0000 or a lone surrogate in a string or key, or
    contains NaN, Infinity or a number that overflows a double. Integers keep
    every digit. The last one of duplicate keys wins.
    """
    _check_structure(body, MAX_DEPTH - depth)
    try:
        text = body.decode()
    except UnicodeDecodeError:
        raise ValueError(_("The JSON is not UTF-8.")) from None
    decoder = _decoder_of_long_integers if _has_long_number(body) else _decoder
    try:
        value = decoder.decode(text)
    except orjson.JSONDecodeError:
        raise ValueError(_(NUMBER_TOO_LARGE)) from None
    except json.JSONDecodeError as error:
        raise ValueError(_(NOT_JSON) % {"reason": error}) from None
    # U+0000 and lone surrogates can only be written as escapes.
    if "\\u" in text and _SUSPICIOUS_ESCAPE.search(text):
        for string in _strings(value):
            _check_text(string)
    return value


def _check_structure(body: bytes, max_depth: int) -> None:
    """Raise ValueError if there are too many values or if they nest too deep.

    This comes before decoding, because a recursive decoder can crash, and
    because objects take much more time and memory than the text.
    """
    brackets = body.count(b"[") + body.count(b"{")
    if brackets <= max_depth and brackets + body.count(b",") <= MAX_VALUES:
        return
    structure = _structure(body)
    if structure.count(b",") + structure.count(b"[") > MAX_VALUES:
        message = _("The JSON has more than %(number)s values.")
        raise TooManyValues(message % {"number": f"{MAX_VALUES:,}"})
    depth = 0
    # Of innermost siblings, every second one can be left out.
    for bracket in structure.replace(b",", b"").replace(b"[][]", b"[]"):
        depth += 1 if bracket == ord("[") else -1
        if depth > max_depth:
            message = _("The JSON is nested deeper than %(levels)s levels.")
            raise ValueError(message % {"levels": MAX_DEPTH})


def _structure(body: bytes) -> bytes:
    """Return the commas and brackets outside strings, braces as brackets.

    Each step runs in C, and they take 30 ms for 8 MiB. A regular expression
    that skips strings takes ten times as long.
    """
    if b"\\" in body:
        body = body.replace(b"\\\\", b"").replace(b'\\"', b"")
    # An empty pair of quotation marks is a string, or the end of one and the
    # beginning of another. Either way, what is outside strings stays outside.
    marks = body.translate(_SQUARE, _NOT_STRUCTURE).replace(b'""', b"")
    # A value has at most two strings, itself and its key, and these have four
    # quotation marks. What comes after too many of them need not be looked at.
    return b"".join(marks.split(b'"', 4 * MAX_VALUES + 4)[::2])


def _has_long_number(body: bytes) -> bool:
    """Return whether there may be a number of more than DOUBLE_DIGITS digits."""
    if len(body) <= DOUBLE_DIGITS:
        return False
    return b"0" * (DOUBLE_DIGITS + 1) in body.translate(_ZEROS_FOR_DIGITS)


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item)
    elif isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from _strings(item)


def _check_text(string: str) -> None:
    if "\0" in string:
        raise ValueError(_("Text must not contain U+0000."))
    try:
        string.encode()
    except UnicodeEncodeError:
        raise ValueError(_("Text must not contain lone surrogates.")) from None


def _int(literal: str) -> int:
    if len(literal) > DOUBLE_DIGITS and math.isinf(float(literal)):
        raise ValueError(_(NUMBER_TOO_LARGE))
    return int(literal)


def _constant(name: str) -> NoReturn:
    raise ValueError(_(NOT_JSON) % {"reason": f"{name} is not a number"})


# orjson reads a single number as float() does, but refuses one that overflows.
# 262,000 numbers take 32 ms, and 42 with a function in Python.
_decoder = json.JSONDecoder(parse_float=orjson.loads, parse_constant=_constant)


# Without ``parse_int``, 262,000 integers take 17 ms, and otherwise 56.
_decoder_of_long_integers = json.JSONDecoder(
    parse_float=orjson.loads, parse_int=_int, parse_constant=_constant
)
