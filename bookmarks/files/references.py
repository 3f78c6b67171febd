"""Decode HTML character references as browsers do.

In attributes, Python's parser decodes more than a browser: it turns "&region=" into "®ion=". Therefore the parser is
given text in which AMPERSAND replaces each "&", and the text that it returns is decoded by these functions.
"""

import re
from html import unescape
from html.entities import html5

AMPERSAND = "\0"
REFERENCE = re.compile(r"&(#\d+;?|#[xX][\da-fA-F]+;?|\w+;?)", re.ASCII)


def decode_text(value: str) -> str:
    """Decode text outside of tags."""
    return unescape(value.replace(AMPERSAND, "&"))


def decode_attribute(value: str) -> str:
    """Decode the value of an attribute.

    A name without a semicolon before "=" or a letter is not a character reference.
    """
    if AMPERSAND not in value:
        return value
    value = value.replace(AMPERSAND, "&")

    def decode(match: re.Match[str]) -> str:
        name, after = match[1], value[match.end() : match.end() + 1]
        known = name in html5 and (name.endswith(";") or after != "=")
        return unescape(match[0]) if known or name.startswith("#") else match[0]

    return REFERENCE.sub(decode, value)
