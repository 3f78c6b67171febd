"""The headers in the OpenAPI document."""

from collections.abc import Mapping
from typing import Any

from drf_spectacular.utils import OpenApiExample, OpenApiParameter

IF_MATCH = OpenApiParameter(
    "If-Match",
    str,
    "header",
    description="An ETag. If the object has changed since, the request is refused with 412.",
    examples=[OpenApiExample("Any state", "*")],
)

TEXT = {"type": "string"}
SECONDS = {"type": "integer"}
HEADERS: Mapping[str, Mapping[str, Any]] = {
    "Allow": {"schema": TEXT, "description": "The methods that the path offers."},
    "Cache-Control": {"schema": TEXT, "description": "Always `no-store`."},
    "Content-Disposition": {"schema": TEXT, "description": "The name of the file."},
    "ETag": {"schema": TEXT, "description": "Changes with every change of the object."},
    "Location": {
        "schema": {"type": "string", "format": "uri-reference"},
        "description": "The URL of the new object or, with 409, of the object in the way.",
    },
    "RateLimit": {"schema": TEXT, "description": "The remaining calls, and the seconds until the window ends."},
    "RateLimit-Policy": {"schema": TEXT, "description": "The calls allowed per window, and its length in seconds."},
    "Retry-After": {"schema": SECONDS, "description": "Seconds to wait before repeating the request."},
    "WWW-Authenticate": {"schema": TEXT, "description": "The required scheme."},
}
OF_A_STATUS = {
    201: ["Location"],
    401: ["WWW-Authenticate"],
    405: ["Allow"],
    409: ["Location"],
    429: ["Retry-After"],
    503: ["Retry-After"],
}
NOT_COUNTED = {401, 405}
"""The statuses of responses to calls that are not counted, because the token is not known."""


def header_names(status: int, tagged: bool, is_file: bool) -> list[str]:
    """Return the names of the headers of a response. A successful one has an ETag, or the name of a file."""
    succeeded = status < 400
    return [
        "Cache-Control",
        *(["ETag"] if tagged and succeeded else []),
        *(["Content-Disposition"] if is_file and succeeded else []),
        *OF_A_STATUS.get(status, []),
        *([] if status in NOT_COUNTED else ["RateLimit", "RateLimit-Policy"]),
    ]
