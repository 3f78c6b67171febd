"""Decode HTML character references by the HTML Standard.

Python's ``html.unescape`` drops some characters, refuses numbers of more than 4,300 digits, and decodes references in
attributes as in text, so that "&region=" becomes "®ion=".

https://html.spec.whatwg.org/multipage/parsing.html#character-reference-state
"""

import re
from functools import partial
from html import unescape
from html.entities import html5

REFERENCE = re.compile(r"&(?:#0*(\d+);?|#[xX]0*([\da-fA-F]+);?|([a-zA-Z][a-zA-Z\d]*;?))", re.ASCII)
LONGEST_NAME = max(map(len, html5))
REPLACEMENT = "\ufffd"


def decode_text(value: str) -> str:
    """Decode text outside of tags."""
    return _decode_in_text(value) if "&" in value else value


def decode_attribute(value: str) -> str:
    """Decode the value of an attribute.

    A name without a semicolon before "=", a letter or a digit is not a character reference.
    """
    return _decode_in_attribute(value) if "&" in value else value


def _decode(in_attribute: bool, match: re.Match[str]) -> str:
    decimal, hexadecimal, name = match.groups()
    if decimal or hexadecimal:
        return _character(int(decimal[:8]) if decimal else int(hexadecimal[:8], 16))
    if in_attribute:
        is_literal = not name.endswith(";") and match.string[match.end() : match.end() + 1] == "="
        return match[0] if is_literal else html5.get(name, match[0])
    for length in range(min(len(name), LONGEST_NAME), 1, -1):
        if name[:length] in html5:
            return html5[name[:length]] + name[length:]
    return match[0]


def _character(number: int) -> str:
    if 0x80 <= number < 0xA0:
        return unescape(f"&#{number};")
    return chr(number) if 0 < number <= 0x10FFFF and not 0xD800 <= number < 0xE000 else REPLACEMENT


_decode_in_text = partial(REFERENCE.sub, partial(_decode, False))
_decode_in_attribute = partial(REFERENCE.sub, partial(_decode, True))
