"""Decode the JSON (RFC 8259) of bodies and forms, and render that of responses.

Whether the values can be stored is checked by ``require_storable_json``.
"""

import json
from collections.abc import Mapping
from typing import NoReturn

import orjson
from django.utils.translation import gettext as _
from rest_framework.renderers import JSONRenderer
from rest_framework.utils.encoders import JSONEncoder

from usergroups.db.storable_text import too_deep

MAX_VALUES = 300_000
"""The maximum number of commas and opening brackets outside strings.

It is about the number of values. Decoding 8 MiB of empty lists, which are
2,800,000 values, would take four seconds.
"""


MAX_QUOTATION_MARKS = 4 * (MAX_VALUES + 1)
"""The quotation marks of one value more than the maximum: each value may have
two, and its key another two.
"""


class TooManyValues(ValueError):
    """The JSON has more than MAX_VALUES values."""

    code = "too_many_values"


def decode(body: bytes) -> object:
    """Decode the JSON text ``body``, whose values are not checked.

    Raises ValueError, with a message for the client, if the text is not UTF-8
    or not JSON (JSONDecodeError), contains NaN or Infinity, has more than
    MAX_VALUES values (TooManyValues) or is nested deeper than Python's limit of
    recursions. Integers keep every digit. The last one of duplicate keys wins.
    """
    _require_few_values(body)
    try:
        return _decoder.decode(body.decode())
    except UnicodeDecodeError:
        raise ValueError(_("The JSON is not UTF-8.")) from None
    except RecursionError:
        raise ValueError(too_deep()) from None


def _require_few_values(body: bytes) -> None:
    """Raise TooManyValues if there are more than MAX_VALUES.

    This comes before decoding, because objects take much more time and memory
    than the text.
    """
    if _number_of_marks(body) <= MAX_VALUES:
        return
    # Remove escaped backslashes first, so that a quotation mark after one does
    # not count as escaped.
    unescaped = body.replace(b"\\\\", b"").replace(b'\\"', b"")
    # Each quotation mark begins or ends a string, so the parts at even indexes
    # are outside strings. The split may stop early, because a text with so
    # many strings is refused anyway: it has too many values or is not JSON. A
    # regular expression that skips strings takes ten times as long.
    parts = unescaped.split(b'"', MAX_QUOTATION_MARKS)
    if _number_of_marks(b"".join(parts[::2])) > MAX_VALUES:
        message = _("The JSON has more than %(number)s values.")
        raise TooManyValues(message % {"number": f"{MAX_VALUES:,}"})


def _number_of_marks(text: bytes) -> int:
    """Return the number of commas and opening brackets."""
    return text.count(b",") + text.count(b"[") + text.count(b"{")


def _refuse_constant(name: str) -> NoReturn:
    """Refuse NaN, Infinity and -Infinity, which Python's decoder accepts."""
    raise ValueError(_("%(name)s is not JSON.") % {"name": name})


_decoder = json.JSONDecoder(parse_constant=_refuse_constant)


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
