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
contents: dict[tuple[str, int | None], bytes] = {}


class SchemaView(SpectacularAPIView):
    """Serve the document, which is the same for all callers, and is rendered once in each format."""

    def get(self, request: Request, *args: Any, **kwargs: Any) -> HttpResponse:
        renderer = request.accepted_renderer
        charset = f"; charset={renderer.charset}" if renderer.charset else ""
        return HttpResponse(
            content(renderer, request.accepted_media_type),
            content_type=f"{renderer.media_type}{charset}",
            headers={"Content-Disposition": f'inline; filename="{spectacular_settings.TITLE}.{renderer.format}"'},
        )


def content(renderer: BaseRenderer, media_type: str) -> bytes:
    """Return the rendered document. While one thread renders it, others wait.

    Rendering takes up to a second of CPU time, during which other requests to the process hardly proceed.
    """
    # "Accept: application/json; indent=2" is heeded, up to 8. No other parameter changes the content.
    indent = renderer.get_indent(media_type, {}) if isinstance(renderer, JSONRenderer) else None
    key = (renderer.format, indent)
    with lock:
        if key not in contents:
            contents[key] = bytes(renderer.render(document(), media_type))  # type: ignore[arg-type]
        return contents[key]


@cache
def document() -> dict[str, Any]:
    generator = SpectacularAPIView.generator_class()
    schema: dict[str, Any] = generator.get_schema(request=None, public=True)  # type: ignore[no-untyped-call]
    return schema
