"""The OpenAPI document at /schema/."""

from functools import cache
from hashlib import sha256
from threading import Lock
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils import translation
from django.views.decorators.http import condition
from drf_spectacular.generators import SchemaGenerator

from usergroups.api.strict_json import CompactJSONRenderer

# drf-spectacular fails if several threads generate their first documents at
# once.
generation_lock = Lock()


@cache
def generated() -> bytes:
    """Return the document, in English.

    Generating it takes a second, so the result is cached.
    """
    with translation.override(None):
        described = SchemaGenerator().get_schema(request=None, public=True)  # type: ignore[no-untyped-call]
    return CompactJSONRenderer().render(described)


def document() -> bytes:
    """Return the document, which is generated once."""
    with generation_lock:
        return generated()


def etag(request: HttpRequest) -> str:
    """Return an ETag of the document."""
    return f'"{sha256(document()).hexdigest()}"'


@condition(etag_func=etag)
def schema(request: HttpRequest) -> HttpResponse:
    """Serve the OpenAPI document as JSON. It is the same for all clients."""
    return HttpResponse(document(), content_type="application/json")


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
    components = result["components"]
    components["headers"]["X-Request-ID"] = REQUEST_ID
    responses = [*components["responses"].values()]
    for path in result["paths"].values():
        for operation in path.values():
            responses.extend(operation["responses"].values())
    for response in responses:
        if "$ref" not in response:
            reference = {"$ref": "#/components/headers/X-Request-ID"}
            response["headers"]["X-Request-ID"] = reference
    return result
