"""Decode JSON (RFC 8259), and reject text that a database could not handle.

Forms are decoded by ``loads``. Bodies are decoded by ``decode``, and
``check_fields`` names their fields that cannot be stored. CompactJSONRenderer
renders the responses.
"""

import json
import math
from collections.abc import Mapping
from typing import Any, NoReturn

import orjson
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop
from rest_framework.renderers import JSONRenderer
from rest_framework.utils.encoders import JSONEncoder

from usergroups.db.storable_text import require_storable

MAX_DEPTH = 64


MAX_VALUES = 300_000
"""The maximum number of commas and opening brackets outside strings.

It is about the number of values. Decoding 8 MiB of empty lists, which are
2,800,000 values, would take four seconds.
"""


MAX_QUOTATION_MARKS = 4 * (MAX_VALUES + 1)
"""The quotation marks of one value more than the maximum: each value may have
two, and its key another two.
"""


NOT_JSON = gettext_noop("The text is not valid JSON: %(reason)s.")


TOO_DEEP = gettext_noop("The JSON is nested deeper than %(levels)s levels.")


DOUBLE_DIGITS = 308  # an integer with up to this many digits never overflows a double


_BRACES_TO_BRACKETS = bytes.maketrans(b"{}", b"[]")


# All bytes except quotation marks, commas, brackets and braces.
_NOT_STRUCTURE = bytes(set(range(256)) - set(b'",[]{}'))


_ZEROS_FOR_DIGITS = bytes.maketrans(b"123456789", b"000000000")


class InvalidJSON(ValueError):
    """The text is not JSON. ``line`` and ``column``, from 1, are the place of
    the error.
    """

    def __init__(self, message: str, line: int, column: int) -> None:
        super().__init__(message)
        self.line = line
        self.column = column


class TooManyValues(ValueError):
    """The JSON has more than MAX_VALUES values."""

    code = "too_many_values"


def loads(body: bytes, depth: int = 0) -> Any:
    """Decode the JSON text ``body``, in which all values can be stored.

    Raises the errors of ``decode`` and of ``check_storable``.
    """
    value = decode(body, depth)
    check_storable(value)
    return value


def decode(body: bytes, depth: int = 0) -> Any:
    """Decode the JSON text ``body``, whose values are not checked.

    ``depth`` is the nesting depth of the place where the value will be stored.

    Raises ValueError, with a message for the client, if the text is not UTF-8
    or not JSON (InvalidJSON), contains NaN or Infinity, has more than
    MAX_VALUES values (TooManyValues) or is nested deeper than 64. Integers
    keep every digit. Numbers that overflow a double are infinite. The last one
    of duplicate keys wins.
    """
    _check_structure(body, MAX_DEPTH - depth)
    try:
        text = body.decode()
    except UnicodeDecodeError:
        raise ValueError(_("The JSON is not UTF-8.")) from None
    decoder = _decoder
    if _has_long_number(body):
        decoder = _decoder_of_long_integers
    try:
        return decoder.decode(text)
    except json.JSONDecodeError as error:
        message = _(NOT_JSON) % {"reason": error}
        raise InvalidJSON(message, error.lineno, error.colno) from None


def check_storable(value: object, max_depth: int = MAX_DEPTH) -> None:
    """Raise Django's ValidationError if a value is not JSON, is nested too deep,
    or contains text that PostgreSQL cannot store or a number that overflows a
    double.
    """
    texts, numbers = _texts_and_numbers(value, max_depth)
    try:
        require_storable("".join(texts))
        are_finite = all(map(math.isfinite, numbers))
    except TypeError:
        raise ValidationError(_("Not a JSON value."), "invalid") from None
    except OverflowError:
        are_finite = False
    if not are_finite:
        message = _("The JSON contains a number that is too large.")
        raise ValidationError(message, "overflow")


def check_object(value: object) -> None:
    """Raise Django's ValidationError if Python code gives a value that a body
    could not contain as an object.
    """
    if type(value) is not dict:
        raise ValidationError(_("Not a JSON object."), "not_an_object")
    check_storable(value, MAX_DEPTH - 1)


def _texts_and_numbers(
    value: object, max_depth: int
) -> tuple[list[str], list[int | float]]:
    """Return all texts, with the keys of objects, and all numbers in a value.

    What is not JSON is among the texts.
    """
    texts: list[Any] = []
    numbers: list[int | float] = []
    level: list[Any] = [value]
    deepest = 0
    for depth in range(1, max_depth + 2):
        next_level = []
        # Without a call for each value, 100,000 of them take 10 ms.
        for item in level:
            kind = type(item)
            if kind is dict:
                deepest = depth
                texts.extend(item)
                next_level.extend(item.values())
            elif kind is list:
                deepest = depth
                next_level.extend(item)
            elif kind is int or kind is float:
                numbers.append(item)
            elif item is not None and kind is not bool:
                texts.append(item)
        level = next_level
    if deepest > max_depth:
        raise ValidationError(_(TOO_DEEP) % {"levels": MAX_DEPTH}, "invalid")
    return texts, numbers


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
    brackets_only = structure.replace(b",", b"")
    depth = 0
    # Of two empty lists side by side, skip one, because both have the same
    # depth. This loop in Python is the slowest step.
    for bracket in brackets_only.replace(b"[][]", b"[]"):
        if bracket != ord("["):
            depth -= 1
            continue
        depth += 1
        if depth > max_depth:
            raise ValueError(_(TOO_DEEP) % {"levels": MAX_DEPTH})


def _structure(body: bytes) -> bytes:
    """Return the commas and brackets outside strings, with braces changed to
    brackets.

    Each step runs in C, and they take 30 ms for 8 MiB. A regular expression
    that skips strings takes ten times as long.
    """
    if b"\\" in body:
        # Remove escaped backslashes first, so that a quotation mark after one
        # does not count as escaped.
        body = body.replace(b"\\\\", b"").replace(b'\\"', b"")
    marks = body.translate(_BRACES_TO_BRACKETS, _NOT_STRUCTURE)
    # Two adjacent quotation marks are an empty string, or the end of a string
    # and the beginning of the next. Without them, the rest stays outside or
    # inside strings as before, and there is less to split.
    marks = marks.replace(b'""', b"")
    # Each quotation mark begins or ends a string, so the parts at even indexes
    # are outside strings. The split may stop early, because a text with so
    # many strings is refused anyway: it has too many values or is not JSON.
    parts = marks.split(b'"', MAX_QUOTATION_MARKS)
    outside_strings = parts[::2]
    return b"".join(outside_strings)


def _has_long_number(body: bytes) -> bool:
    """Return whether there may be a number of more than DOUBLE_DIGITS digits."""
    if len(body) <= DOUBLE_DIGITS:
        return False
    long_number = b"0" * (DOUBLE_DIGITS + 1)
    return long_number in body.translate(_ZEROS_FOR_DIGITS)


def _int_or_infinity(literal: str) -> int | float:
    """Decode an integer, or return infinity if a double would overflow."""
    number = float(literal)
    return number if math.isinf(number) else int(literal)


def _constant(name: str) -> NoReturn:
    """Refuse NaN, Infinity and -Infinity, which Python's decoder accepts."""
    raise ValueError(_(NOT_JSON) % {"reason": f"{name} is not a number"})


_decoder = json.JSONDecoder(parse_constant=_constant)

# With ``parse_int``, 262,000 integers take 56 ms, and without it 17.
_decoder_of_long_integers = json.JSONDecoder(
    parse_int=_int_or_infinity, parse_constant=_constant
)


# JSONEncoder writes times, and keys may be integers, as in DRF.
_OPTIONS = orjson.OPT_NON_STR_KEYS | orjson.OPT_PASSTHROUGH_DATETIME
_encode = JSONEncoder().default


class CompactJSONRenderer(JSONRenderer):
    """Render compact JSON, whatever the host's REST_FRAMEWORK setting says.

    An ``orjson.Fragment`` is copied as is.
    """

    def render(
        self,
        data: object,
        accepted_media_type: str | None = None,
        renderer_context: Mapping[str, object] | None = None,
    ) -> bytes:
        return orjson.dumps(data, _encode, _OPTIONS)
