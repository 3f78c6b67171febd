"""Validation and comparison of URLs by the WHATWG URL Standard, and the field
that compares them in the database.

https://url.spec.whatwg.org/
"""

import hashlib
import re

import can_ada
from django.core.exceptions import ValidationError
from django.db import models
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

# characters; the minimum that RFC 9110, section 4.1, recommends to support
MAX_LENGTH = 8000

NO_SCHEME = gettext_noop("The URL has no scheme such as https://.")

# characters of a host that is not ASCII; a domain name has at most 253
MAX_HOST_LENGTH = 255

CONTROL_CHARACTER = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:", re.ASCII | re.IGNORECASE)
# group 1, with the port
_HOST = re.compile(r"[^:/\\?#]*:[/\\]*(?:[^/\\?#]*@)?([^/\\?#]*)")


def serialize(url: str) -> str:
    """Return ``url`` as the standard serializes it.

    Two URLs are the same if their serializations are equal.

    Raises ValueError, with a message for the client, if ``url`` is not a valid
    absolute http or https URL, if it has control characters or surrounding
    white space, which the standard would remove or escape, or if its host is
    so long that parsing it takes much time.
    """
    scheme = _SCHEME.match(url)
    if scheme and scheme[0].lower() not in ("http:", "https:"):
        raise ValueError(_("The URL is neither http nor https."))
    if CONTROL_CHARACTER.search(url):
        raise ValueError(_("The URL has control characters."))
    if url != url.strip():
        raise ValueError(_("The URL has surrounding white space."))
    # This is the reason only if nothing above stands before a scheme.
    if not scheme:
        raise ValueError(_(NO_SCHEME))
    if len(url) > MAX_HOST_LENGTH and _has_costly_host(url):
        raise ValueError(_("The host is longer than a domain name can be."))
    try:
        return str(can_ada.parse(url).href)
    # TypeError for a surrogate, which is no character.
    except (TypeError, ValueError):
        raise ValueError(
            _("The URL is not valid by the WHATWG URL Standard.")
        ) from None


def host(url: str) -> str:
    """Return the host as the standard serializes it, or an empty text if
    ``serialize`` rejects the URL.
    """
    try:
        return str(can_ada.parse(serialize(url)).hostname)
    except ValueError:
        return ""


def _has_costly_host(url: str) -> bool:
    """Return whether the host is long and would be encoded in Punycode.

    The time for that is quadratic in its length: 0.2 s for 8,000 characters. A
    host with percent signs is decoded first, and may then have characters that
    are not ASCII.
    """
    match = _HOST.match(url)
    if match is None or len(match[1]) <= MAX_HOST_LENGTH:
        return False
    return "%" in match[1] or not match[1].isascii()


class WebURL(str):
    """A valid URL, with the digest by which it is compared.

    It is parsed only once, however often its digest is needed.
    """

    __slots__ = ("digest",)

    digest: bytes
    """The SHA-256 digest of the serialized URL."""


def parse(url: str) -> WebURL:
    """Return the URL with its digest.

    Raises ValueError as ``serialize`` does.
    """
    if isinstance(url, WebURL):
        return url
    parsed = WebURL(url)
    parsed.digest = hashlib.sha256(serialize(url).encode()).digest()
    return parsed


def digest(url: str) -> bytes:
    """Return the SHA-256 digest (32 bytes) of the serialized URL.

    Raises ValueError as ``serialize`` does.
    """
    return parse(url).digest


def clean(url: str) -> WebURL:
    """Return the URL with its digest, or raise ValidationError with the reason
    if ``serialize`` rejects it.
    """
    try:
        return parse(url)
    except ValueError as error:
        raise ValidationError(str(error), code="invalid") from None


def validate(url: str) -> None:
    """Raise ValidationError with the reason if ``serialize`` rejects the URL."""
    clean(url)


class URLDigestField(models.BinaryField):  # type: ignore[type-arg]
    """The digest of the row's ``url``, computed by save() and bulk_create().

    A queryset's update() does not compute it. To change a URL, use
    ``BookmarkQuerySet.update_by_id``.
    """

    def pre_save(self, model_instance: models.Model, add: bool) -> bytes:
        value = digest(model_instance.url)  # type: ignore[attr-defined]
        setattr(model_instance, self.attname, value)
        return value
