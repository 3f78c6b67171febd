"""Reading a request's body without trusting its length."""

from typing import Any

from django.http import HttpRequest
from rest_framework.exceptions import APIException, ParseError

CHUNK_SIZE = 64 * 1024


class PayloadTooLarge(APIException):
    status_code = 413
    default_code = "payload_too_large"

    def __init__(self, limit: int) -> None:
        super().__init__(f"The body is larger than {limit} bytes.")


def read_body(request: HttpRequest, limit: int) -> bytes:
    """Return the whole body, of which never more than ``limit`` bytes are held in memory.

    Raises PayloadTooLarge, and ParseError for a body that ends before its announced length.
    """
    announced = _announced_length(request)
    if announced is not None and announced > limit:
        raise PayloadTooLarge(limit)
    # Django takes a body without Content-Length for empty; a WSGI server that ends the input at the end of a
    # chunked body says so, and then it can be read from the server itself.
    chunked = announced is None and request.META.get("wsgi.input_terminated")
    stream = request.META["wsgi.input"] if chunked else request
    body = bytearray()
    while chunk := _read(stream, min(CHUNK_SIZE, limit + 1 - len(body))):
        body += chunk
        if len(body) > limit:
            raise PayloadTooLarge(limit)
    if announced is not None and len(body) < announced:
        raise ParseError("The body is shorter than its Content-Length.")
    return bytes(body)


def _read(stream: Any, size: int) -> bytes:
    try:
        return bytes(stream.read(size))
    except Exception:  # each WSGI server has its own for a body that is cut short or badly chunked
        raise ParseError("The body could not be read.") from None


def _announced_length(request: HttpRequest) -> int | None:
    try:
        return int(request.META["CONTENT_LENGTH"])
    except (KeyError, ValueError):
        return None
