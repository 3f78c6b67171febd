"""Which URLs can be bookmarked and when two of them are the same, by the WHATWG URL Standard.

https://url.spec.whatwg.org/
"""

import hashlib
import re

import can_ada
from django.core.exceptions import ValidationError

MAX_LENGTH = 8000  # characters; what RFC 9110, section 4.1, recommends to support at least

_CONTROL_CHARACTER = re.compile(r"[\x00-\x1f\x7f-\x9f]")


def serialize(url: str) -> str:
    """Return the standard's serialisation of ``url``: two URLs are the same if theirs are equal.

    Raises ValueError for what a browser would not open as a web page, and for control characters and surrounding
    white space, which the standard would drop.
    """
    if _CONTROL_CHARACTER.search(url) or url != url.strip():
        raise ValueError("The URL has control characters or surrounding white space.")
    try:
        parsed = can_ada.parse(url)
    except ValueError:
        raise ValueError("The URL is not absolute, or not valid.") from None
    if parsed.protocol not in ("http:", "https:"):
        raise ValueError("The URL is neither http nor https.")
    return str(parsed.href)


def digest(url: str) -> bytes:
    """Return the SHA-256, 32 bytes, of the serialisation. Raises ValueError as ``serialize`` does."""
    return hashlib.sha256(serialize(url).encode()).digest()


def validate(url: str) -> None:
    """Raise ValidationError for a URL that cannot be bookmarked."""
    try:
        serialize(url)
    except ValueError:
        raise ValidationError("Not an absolute http or https URL.", code="invalid") from None
