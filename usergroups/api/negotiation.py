"""Select the parser of a request and the renderer of its response.

BaseAPIView does so by JSONNegotiation, because DRF's own would read Accept.
"""

from collections.abc import Iterable
from typing import TypeVar

from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.parsers import BaseParser
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request

R = TypeVar("R", bound=BaseRenderer)


class JSONNegotiation(BaseContentNegotiation):
    """Select the parser by the exact media type, without parameters.

    Views have one renderer, so Accept is ignored.
    """

    def select_parser(
        self, request: Request, parsers: Iterable[BaseParser]
    ) -> BaseParser | None:
        media_type = request.content_type.partition(";")[0].strip().lower()
        for parser in parsers:
            if parser.media_type == media_type:
                return parser
        return None

    def select_renderer(
        self,
        request: Request,
        renderers: Iterable[R],
        format_suffix: str | None = None,
    ) -> tuple[R, str]:
        renderer = next(iter(renderers))
        return renderer, renderer.media_type
