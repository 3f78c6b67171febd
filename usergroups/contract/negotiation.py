"""Content negotiation of an API that reads and writes JSON only."""

from collections.abc import Iterable

from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.parsers import BaseParser
from rest_framework.renderers import BaseRenderer, JSONRenderer
from rest_framework.request import Request


class CompactJSONRenderer(JSONRenderer):
    """Render compact JSON, whatever the host's REST_FRAMEWORK setting says."""

    compact = True
    ensure_ascii = False
    strict = True


class JSONNegotiation(BaseContentNegotiation):
    """Select the parser by the exact media type, without parameters, and ignore the ``Accept`` header."""

    def select_parser(self, request: Request, parsers: Iterable[BaseParser]) -> BaseParser | None:
        media_type = request.content_type.partition(";")[0].strip().lower()
        return next((parser for parser in parsers if parser.media_type == media_type), None)

    def select_renderer(
        self, request: Request, renderers: Iterable[BaseRenderer], format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str]:
        renderer = next(iter(renderers))
        return renderer, renderer.media_type
