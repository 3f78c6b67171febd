"""The OpenAPI document at /schema/."""

from functools import cache
from threading import Lock
from typing import Any

from django.http import HttpResponse
from drf_spectacular.settings import spectacular_settings
from drf_spectacular.views import SpectacularAPIView
from rest_framework.renderers import BaseRenderer, JSONRenderer
from rest_framework.request import Request

lock = Lock()
rendered: dict[tuple[str, int | None], bytes] = {}


class SchemaView(SpectacularAPIView):
    """Serve the OpenAPI document. It is rendered once per format, because it is the same for all clients."""

    def get(self, request: Request, *args: Any, **kwargs: Any) -> HttpResponse:
        renderer = request.accepted_renderer
        charset = f"; charset={renderer.charset}" if renderer.charset else ""
        return HttpResponse(
            render(renderer, request.accepted_media_type),
            content_type=f"{renderer.media_type}{charset}",
            headers={"Content-Disposition": f'inline; filename="{spectacular_settings.TITLE}.{renderer.format}"'},
        )


def render(renderer: BaseRenderer, media_type: str) -> bytes:
    """Return the rendered document.

    A lock prevents concurrent rendering, which takes up to a second of CPU time and slows other requests down.
    """
    # JSONRenderer honors "Accept: application/json; indent=2", up to 8. No other parameter changes the content.
    indent = renderer.get_indent(media_type, {}) if isinstance(renderer, JSONRenderer) else None
    key = (renderer.format, indent)
    with lock:
        if key not in rendered:
            rendered[key] = bytes(renderer.render(document(), media_type))  # type: ignore[arg-type]
        return rendered[key]


def document_request_ids(result: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
    """Add the header X-Request-ID to all responses of an OpenAPI document. For drf-spectacular's hooks."""
    components = result["components"]
    components["headers"]["RequestID"] = {
        "schema": {"type": "string"},
        "description": "The `X-Request-ID` of the request if it has a valid one, otherwise a new one. The log has it.",
    }
    operations = [operation for path in result["paths"].values() for operation in path.values()]
    for responses in [components["responses"], *(operation["responses"] for operation in operations)]:
        for response in responses.values():
            if "$ref" not in response:
                response["headers"]["X-Request-ID"] = {"$ref": "#/components/headers/RequestID"}
    return result


@cache
def document() -> dict[str, Any]:
    """Return the OpenAPI document, generated once."""
    generator = SpectacularAPIView.generator_class()
    schema: dict[str, Any] = generator.get_schema(request=None, public=True)  # type: ignore[no-untyped-call]
    return schema
