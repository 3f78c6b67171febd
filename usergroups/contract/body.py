"""Read the body of a request without trusting its Content-Length."""

from django.http import HttpRequest
from rest_framework.exceptions import APIException, ParseError
from rest_framework.request import Request

CHUNK_SIZE = 64 * 1024


class PayloadTooLarge(APIException):
    status_code = 413
    default_code = "payload_too_large"

    def __init__(self, limit: int) -> None:
        super().__init__(f"The body is larger than {limit} bytes.")


def content_length(request: HttpRequest | Request, limit: int) -> int | None:
    """Return the Content-Length of a request, or None. Raises PayloadTooLarge if it exceeds ``limit``."""
    try:
        length = int(request.META["CONTENT_LENGTH"])
    except (KeyError, ValueError):
        return None
    if length > limit:
        raise PayloadTooLarge(limit)
    return length


def may_exceed(request: HttpRequest, limit: int) -> bool:
    """Return whether the Content-Length of a request is larger than ``limit`` bytes or not a number."""
    length = request.META.get("CONTENT_LENGTH") or "0"
    return not length.isdecimal() or int(length) > limit


def read_body(request: HttpRequest | Request, limit: int) -> bytes:
    """Return the body, without reading more than ``limit + 1`` bytes of it.

    Raises PayloadTooLarge if the body exceeds ``limit`` bytes, and ParseError if it cannot be read or is shorter than
    its Content-Length.
    """
    length = content_length(request, limit)
    # Django treats a body without Content-Length as empty. Read a chunked body directly from the WSGI server, if the
    # server sets ``wsgi.input_terminated``.
    chunked = length is None and request.META.get("wsgi.input_terminated")
    stream = request.META["wsgi.input"] if chunked else request
    body = bytearray()
    while len(body) != length:
        try:
            chunk = stream.read(min(CHUNK_SIZE, limit + 1 - len(body)))
        except Exception:  # WSGI servers raise different exceptions for truncated or badly chunked bodies
            raise ParseError("The body could not be read.") from None
        if not chunk:
            break
        body += chunk
        if len(body) > limit:
            raise PayloadTooLarge(limit)
    if length is not None and len(body) < length:
        raise ParseError("The body is shorter than its Content-Length.")
    return bytes(body)
