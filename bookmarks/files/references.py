"""Character references, as browsers decode them.

Python's parser decodes more in attributes than a browser does: "&region=" is no "®ion=". So it is given text without
any, with AMPERSAND for "&", and its results come here.
"""

import re
from html import unescape
from html.entities import html5

AMPERSAND = "\0"
REFERENCE = re.compile(r"&(#\d+;?|#[xX][\da-fA-F]+;?|\w+;?)", re.ASCII)


def text(value: str) -> str:
    return unescape(value.replace(AMPERSAND, "&"))


def attribute(value: str) -> str:
    """In an attribute there is no reference without a semicolon before "=" or a letter."""
    value = value.replace(AMPERSAND, "&")

    def decode(match: re.Match[str]) -> str:
        name, after = match[1], value[match.end() : match.end() + 1]
        known = name in html5 and (name.endswith(";") or after != "=")
        return unescape(match[0]) if known or name.startswith("#") else match[0]

    return REFERENCE.sub(decode, value)
