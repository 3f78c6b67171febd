"""The OpenAPI document at /schema/."""

from functools import cache
from threading import Lock
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils import translation
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.renderers import OpenApiJsonRenderer

# drf-spectacular fails if several threads generate their first documents at
# once.
generation_lock = Lock()


def schema(request: HttpRequest) -> HttpResponse:
    """Serve the OpenAPI document as JSON. It is the same for all clients."""
    with generation_lock:
        body = document()
    return HttpResponse(body, content_type="application/json")


@cache
def document() -> bytes:
    """Return the document, in English.

    Generating it takes a second, so the result is cached.
    """
    with translation.override(None):
        generated = SchemaGenerator().get_schema(request=None, public=True)  # type: ignore[no-untyped-call]
    return bytes(OpenApiJsonRenderer().render(generated))


REQUEST_ID = {
    "schema": {"type": "string"},
    "description": (
        "The `X-Request-ID` of the request if it has a valid one, otherwise a new one. "
        "The log has it."
    ),
}


def document_request_ids(result: dict[str, Any], **kwargs: object) -> dict[str, Any]:
    """Add the header X-Request-ID to all responses.

    This is one of drf-spectacular's postprocessing hooks.
    """
    responses = list(result["components"]["responses"].values())
    for path in result["paths"].values():
        for operation in path.values():
            responses.extend(operation["responses"].values())
    for response in responses:
        if "$ref" not in response:
            response["headers"]["X-Request-ID"] = REQUEST_ID
    return result
