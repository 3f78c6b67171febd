"""The headers in the OpenAPI document."""

from collections.abc import Iterable
from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter

IF_MATCH = OpenApiParameter(
    "If-Match", str, "header", description="An ETag. If the object has changed since, the request is refused with 412."
)


def response_headers(responses: Iterable[int | tuple[int, str]], tagged: bool, is_file: bool) -> list[OpenApiParameter]:
    """Document the headers of the responses with these statuses, or statuses and media types.

    A successful response has an ETag if it is ``tagged``, and the name of a file if it ``is_file``.
    """
    statuses = [*dict.fromkeys(key if isinstance(key, int) else key[0] for key in responses)]
    counted = [status for status in statuses if status != 401]  # the calls of a token are counted
    etag = _header("ETag", str, [200, 201], "Changes with every change of the object.")
    disposition = _header("Content-Disposition", str, [200], "The name of the file.")
    return [
        *([etag] if tagged else []),
        *([disposition] if is_file else []),
        _header("Cache-Control", str, statuses, "Always `no-store`."),
        _header("Location", OpenApiTypes.URI_REF, [201], "The URL of the new object."),
        _header("WWW-Authenticate", str, [401], "The required scheme."),
        _header("Retry-After", int, [429, 503], "Seconds to wait before repeating the request."),
        _header("RateLimit", str, counted, "The remaining calls, and the seconds until the window ends."),
        _header("RateLimit-Policy", str, counted, "The calls allowed per window, and its length in seconds."),
    ]


def _header(name: str, kind: Any, statuses: list[int], description: str) -> OpenApiParameter:
    """Document a header of the responses with these statuses."""
    return OpenApiParameter(name, kind, "header", response=statuses, description=description)
