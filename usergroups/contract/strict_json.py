"""Parse JSON (RFC 8259), reject text that a database could not handle, and render responses."""

import json
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any, NoReturn

import orjson
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop
from rest_framework.renderers import JSONRenderer
from rest_framework.utils.encoders import JSONEncoder

MAX_DEPTH = 64
NOT_JSON = gettext_noop("The text is not valid JSON: %(reason)s.")
DOUBLE_DIGITS = 308  # an integer with up to this many digits never overflows a double

# Matches everything except the brackets outside strings. The closing quote is optional, so that the expression never
# backtracks.
_NO_BRACKETS = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"?|[^"\[\]{}]+', re.DOTALL)


def loads(body: bytes, depth: int = 0) -> Any:
    """Decode the JSON text ``body``. ``depth`` is the nesting depth of the place where the value will be stored.

    Raises ValueError, with a message for the client, if the text is not UTF-8 or not JSON, is nested deeper than 64,
    contains U+0000 or a lone surrogate in a string or key, or contains NaN, Infinity or a number that overflows a
    double. Integers keep every digit. The last one of duplicate keys wins.
    """
    try:
        text = body.decode()
    except UnicodeDecodeError:
        raise ValueError(_("The JSON is not UTF-8.")) from None
    # Check the depth first, because a recursive decoder can crash.
    if text.count("[") + text.count("{") > MAX_DEPTH - depth and _is_deeper(text, MAX_DEPTH - depth):
        raise ValueError(_("The JSON is nested deeper than %(levels)s levels.") % {"levels": MAX_DEPTH})
    try:
        value = _decoder.decode(text)
    except json.JSONDecodeError as error:
        raise ValueError(_(NOT_JSON) % {"reason": error}) from None
    if "\\u" in text:  # U+0000 and lone surrogates can only be written as escapes
        for string in _strings(value):
            _check_text(string)
    return value


def _is_deeper(text: str, limit: int) -> bool:
    """Return whether brackets nest deeper than ``limit``."""
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
        raise ValueError(_("Text must not contain U+0000."))
    try:
        string.encode()
    except UnicodeEncodeError:
        raise ValueError(_("Text must not contain lone surrogates.")) from None


def _float(literal: str) -> float:
    number = float(literal)
    if math.isinf(number):
        raise ValueError(_("The JSON contains a number that is too large."))
    return number


def _int(literal: str) -> int:
    if len(literal) > DOUBLE_DIGITS:
        _float(literal)
    return int(literal)


def _constant(name: str) -> NoReturn:
    raise ValueError(_(NOT_JSON) % {"reason": f"{name} is not a number"})


_decoder = json.JSONDecoder(parse_float=_float, parse_int=_int, parse_constant=_constant)


class CompactJSONRenderer(JSONRenderer):
    """Render compact JSON, whatever the host's REST_FRAMEWORK setting says. An ``orjson.Fragment`` is copied as is."""

    def render(
        self, data: Any, accepted_media_type: str | None = None, renderer_context: Mapping[str, Any] | None = None
    ) -> bytes:
        options = orjson.OPT_NON_STR_KEYS | orjson.OPT_PASSTHROUGH_DATETIME  # keys and times as DRF writes them
        return orjson.dumps(data, JSONEncoder().default, options)
