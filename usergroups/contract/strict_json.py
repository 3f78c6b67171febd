"""JSON that means the same everywhere: RFC 8259 without what databases and other parsers disagree on."""

import json
import math
import re
from collections.abc import Iterator
from typing import Any, NoReturn

MAX_DEPTH = 64
DOUBLE_DIGITS = 308  # integers with no more digits than these never overflow a double

# Strings, which may contain brackets, and text without any. The end of a string is optional, so that the expression
# never backtracks.
_NO_BRACKETS = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"?|[^"\[\]{}]+', re.DOTALL)


def loads(body: bytes, depth: int = 0) -> Any:
    """Return what the JSON text ``body`` stands for, which is to be part of another one, so deep in it.

    Raises ValueError, with a message for people, for what is not UTF-8 or not JSON, for nesting deeper than 64,
    U+0000 and lone surrogates in any string or key, and for numbers that are or become infinite or NaN.
    Integers keep every digit; of duplicate keys the last one wins.
    """
    try:
        text = body.decode()
    except UnicodeDecodeError:
        raise ValueError("The JSON is not UTF-8.") from None
    if _is_deeper(text, MAX_DEPTH - depth):
        raise ValueError(f"The JSON is nested deeper than {MAX_DEPTH}.")
    try:
        value = _decoder.decode(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"It is not valid JSON: {error}.") from None
    if "\\u" in text:  # the only way to U+0000 and to lone surrogates
        for string in _strings(value):
            _check_text(string)
    return value


def _is_deeper(text: str, limit: int) -> bool:
    """Whether brackets nest deeper than ``limit``. Run before decoding, because a decoder that recurses can crash."""
    if text.count("[") + text.count("{") <= limit:
        return False
    depth = 0
    for bracket in _NO_BRACKETS.sub("", text):
        depth += 1 if bracket in "[{" else -1
        if depth > limit:
            return True
    return False


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
        raise ValueError("Text may not contain U+0000.")
    try:
        string.encode()
    except UnicodeEncodeError:
        raise ValueError("Text may not contain lone surrogates.") from None


def _float(literal: str) -> float:
    number = float(literal)
    if math.isinf(number):
        raise ValueError("The JSON contains a number that is too large.")
    return number


def _int(literal: str) -> int:
    if len(literal) > DOUBLE_DIGITS:
        _float(literal)
    return int(literal)


def _constant(name: str) -> NoReturn:
    raise ValueError(f"It is not valid JSON: {name} is not a number.")


_decoder = json.JSONDecoder(parse_float=_float, parse_int=_int, parse_constant=_constant)
