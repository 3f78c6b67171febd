"""Decode JSON (RFC 8259), and reject text that a database could not handle.

Forms, files and cursors are decoded by ``loads``. Bodies are decoded by
``loads_unchecked``, and ``check_storable`` then names their invalid fields.
CompactJSONRenderer renders the responses.
"""

import json
import math
import re
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


NUMBER_TOO_LARGE = gettext_noop("The JSON contains a number that is too large.")


DOUBLE_DIGITS = 308  # an integer with up to this many digits never overflows a double


_BRACES_TO_BRACKETS = bytes.maketrans(b"{}", b"[]")


# All bytes except quotation marks, commas, brackets and braces.
_NOT_STRUCTURE = bytes(set(range(256)) - set(b'",[]{}'))


_ZEROS_FOR_DIGITS = bytes.maketrans(b"123456789", b"000000000")


# An escape of U+0000 or of half a surrogate pair, unless its backslash is
# escaped.
_SUSPICIOUS_ESCAPE = re.compile(r"\\u(?:0000|[dD][89a-fA-F])")


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


class Unstorable(ValueError):
    """The JSON contains text or a number that cannot be stored.

    ``code`` is the error code of the API for it.
    """

    def __init__(self, message: str, code: str) -> None:
        super().__init__(message)
        self.code = code


class CheckedObject(dict[str, object]):
    """An object of a body, in which all values can be stored.

    It is not checked a second time before it is stored.
    """


class UncheckedObject(dict[str, object]):
    """An object of a JSON text in which some value cannot be stored.

    Numbers that overflow are infinite in it. ``check_storable`` finds the
    values.
    """


def loads(body: bytes, depth: int = 0) -> Any:
    """Decode the JSON text ``body``.

    ``depth`` is the nesting depth of the place where the value will be stored.

    Raises ValueError, with a message for the client, if the text is not UTF-8
    or not JSON (InvalidJSON), contains NaN or Infinity, has more than
    MAX_VALUES values (TooManyValues), is nested deeper than 64, or contains
    U+0000 or a lone surrogate in a string or key, or a number that overflows a
    double (Unstorable). Integers keep every digit. The last one of duplicate
    keys wins.
    """
    _check_structure(body, MAX_DEPTH - depth)
    try:
        text = body.decode()
    except UnicodeDecodeError:
        raise ValueError(_("The JSON is not UTF-8.")) from None
    decoder = _decoder
    if _has_long_number(body):
        decoder = _decoder_of_long_integers
    value = _decode(decoder, text)
    # U+0000 and lone surrogates can only be written as escapes.
    if "\\u" in text and _SUSPICIOUS_ESCAPE.search(text):
        check_storable(value)
    return value


def check_object(value: object) -> None:
    """Raise ValueError if Python code gives a value that a body could not
    contain as an object.
    """
    if isinstance(value, CheckedObject):
        return
    try:
        body = json.dumps(value).encode()
    except (TypeError, RecursionError) as error:
        raise ValueError(_(NOT_JSON) % {"reason": error}) from None
    # A key that is a number would become text.
    if not isinstance(value, dict) or loads(body, depth=1) != value:
        raise ValueError(_("Not a JSON object."))


def loads_unchecked(body: bytes) -> Any:
    """Decode the JSON text ``body`` as ``loads`` does, but do not raise
    Unstorable.

    If some value cannot be stored, each object is an UncheckedObject.
    """
    try:
        return loads(body)
    except Unstorable:
        return _decode(_unchecked_decoder, body.decode())


def check_storable(value: object) -> None:
    """Raise Unstorable if a decoded value is or contains text that PostgreSQL
    cannot store, or a number that overflows a double, which the decoder has
    made infinite.
    """
    if isinstance(value, str):
        _check_text(value)
    elif isinstance(value, float):
        if math.isinf(value):
            raise _too_large()
    elif isinstance(value, list):
        for item in value:
            check_storable(item)
    elif isinstance(value, dict):
        for key, item in value.items():
            _check_text(key)
            check_storable(item)


def _decode(decoder: json.JSONDecoder, text: str) -> Any:
    """Decode the text.

    Raises ValueError if it is not JSON, or Unstorable if a number overflows.
    """
    try:
        return decoder.decode(text)
    except orjson.JSONDecodeError:
        raise _too_large() from None
    except json.JSONDecodeError as error:
        message = _(NOT_JSON) % {"reason": error}
        raise InvalidJSON(message, error.lineno, error.colno) from None


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
            message = _("The JSON is nested deeper than %(levels)s levels.")
            raise ValueError(message % {"levels": MAX_DEPTH})


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


def _check_text(string: str) -> None:
    """Raise Unstorable for text that PostgreSQL cannot store."""
    try:
        require_storable(string)
    except ValidationError as error:
        raise Unstorable(str(error.message), str(error.code)) from None


def _too_large() -> Unstorable:
    """Return the error for a number that overflows a double."""
    return Unstorable(_(NUMBER_TOO_LARGE), "overflow")


def _int(literal: str) -> int:
    """Decode an integer. Raises Unstorable if a double would overflow."""
    if len(literal) > DOUBLE_DIGITS and math.isinf(float(literal)):
        raise _too_large()
    return int(literal)


def _int_or_infinity(literal: str) -> int | float:
    """Decode an integer, or return infinity if a double would overflow."""
    try:
        return _int(literal)
    except Unstorable:
        return math.inf


def _constant(name: str) -> NoReturn:
    """Refuse NaN, Infinity and -Infinity, which Python's decoder accepts."""
    raise ValueError(_(NOT_JSON) % {"reason": f"{name} is not a number"})


# orjson decodes a float as Python does, but refuses one that overflows. 262,000
# numbers take 32 ms, and 42 with a function in Python.
_decoder = json.JSONDecoder(parse_float=orjson.loads, parse_constant=_constant)

# With ``parse_int``, 262,000 integers take 56 ms, and without it 17.
_decoder_of_long_integers = json.JSONDecoder(
    parse_float=orjson.loads, parse_int=_int, parse_constant=_constant
)

_unchecked_decoder = json.JSONDecoder(
    object_hook=UncheckedObject,
    parse_float=float,
    parse_int=_int_or_infinity,
    parse_constant=_constant,
)


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
        # so that JSONEncoder writes times, and keys may be integers, as in DRF
        options = orjson.OPT_NON_STR_KEYS | orjson.OPT_PASSTHROUGH_DATETIME
        return orjson.dumps(data, JSONEncoder().default, options)
