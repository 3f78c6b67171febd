"""Decode the character references of HTML, such as ``&amp;`` and ``&#38;``.

https://html.spec.whatwg.org/multipage/parsing.html#character-reference-state
"""

import re
from html import unescape
from html.entities import html5

# A number of more than 9 digits is not decoded. It could only be a character
# with leading zeros, and unescape() fails on more than 4,300 digits.
REFERENCE = re.compile(
    r"""
    &
    (?:
        \#\d{1,9}(?!\d)
        | \#[xX][\da-fA-F]{1,9}(?![\da-fA-F])
        | [a-zA-Z][a-zA-Z\d]{1,31}  # The longest name has 32 characters.
    )
    ;?
    """,
    re.ASCII | re.VERBOSE,
)


def decode_text(text: str) -> str:
    """Decode the character references in a text between tags."""
    return REFERENCE.sub(lambda found: unescape(found[0]), text)


def decode_attribute(value: str) -> str:
    """Decode the character references in the value of an attribute.

    In an attribute, a name without a semicolon before "=", a letter or a digit
    is not a character reference, so that the URL ``/?a=1&copy=2`` stays as it
    is.
    """
    return REFERENCE.sub(_decode_in_attribute, value)


def _decode_in_attribute(found: re.Match[str]) -> str:
    reference = found[0]
    if not reference.endswith(";") and not reference.startswith("&#"):
        # REFERENCE also matches the letters and digits after a name, which
        # make it an unknown one.
        is_known = reference[1:] in html5
        if not is_known or found.string.startswith("=", found.end()):
            return reference
    return unescape(reference)
