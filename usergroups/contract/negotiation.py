"""JSON in, JSON out: which parser reads a body and which renderer writes the answer."""

from collections.abc import Iterable

from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.parsers import BaseParser
from rest_framework.renderers import BaseRenderer, JSONRenderer
from rest_framework.request import Request


class CompactJSONRenderer(JSONRenderer):
    """Writes the same bytes whatever the host's REST_FRAMEWORK says of JSON."""

    compact = True
    ensure_ascii = False
    strict = True


class JSONNegotiation(BaseContentNegotiation):
    """Reads only what is declared as the parser's media type, whatever its parameters; ignores ``Accept``."""

    def select_parser(self, request: Request, parsers: Iterable[BaseParser]) -> BaseParser | None:
        media_type = request.content_type.partition(";")[0].strip().lower()
        return next((parser for parser in parsers if parser.media_type == media_type), None)

    def select_renderer(
        self, request: Request, renderers: Iterable[BaseRenderer], format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str]:
        renderer = next(iter(renderers))
        return renderer, renderer.media_type
