"""Parse the query parameters and the JSON body of a request."""

from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import parse_qsl

from django.http import HttpRequest
from django.utils.functional import cached_property
from rest_framework.exceptions import ErrorDetail, ParseError, ValidationError
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.parsers import BaseParser
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request

from . import conf, strict_json
from .body import read_body

MAX_QUERY_PARAMETERS = 100


class ContractRequest(Request):
    """A request with a strict query string and a body that may be chunked."""

    def __init__(self, request: HttpRequest, **kwargs: Any) -> None:
        super().__init__(request, **kwargs)
        # DRF looks these up in the other request each time, after a failed look-up in this one.
        self.method, self.META = request.method, request.META

    @property
    def stream(self) -> Request:
        # DRF treats a body without Content-Length as empty, even if it is chunked.
        return self

    @cached_property
    def query_params(self) -> dict[str, str]:  # type: ignore[override]  # the last value of a parameter wins
        """Return the query parameters.

        Raises ParseError if the query string is not valid UTF-8, contains U+0000 or has more than 100 parameters.
        Django would replace invalid bytes.
        """
        query = self.META.get("QUERY_STRING", "")
        try:
            text = query.encode("latin-1").decode()  # WSGI passes bytes as Latin-1 text
            parameters = dict(
                parse_qsl(text, keep_blank_values=True, errors="strict", max_num_fields=MAX_QUERY_PARAMETERS)
            )
        except ValueError:
            raise ParseError("The query string is not UTF-8 or has too many parameters.") from None
        if any("\0" in text for pair in parameters.items() for text in pair):
            raise ParseError("Text must not contain U+0000.")
        return parameters


class UnknownParameter(ValidationError):
    """The query string has parameters that the operation does not know."""

    def __init__(self, names: Iterable[str], known: Iterable[str] = ()) -> None:
        has = ", ".join(known) or "none"
        detail = ErrorDetail(f"Unknown query parameter. The operation has: {has}.", "unknown_parameter")
        super().__init__({name: [detail] for name in names})


class JSONNegotiation(BaseContentNegotiation):
    """Select the parser by the exact media type, without parameters, and ignore the ``Accept`` header."""

    def select_parser(self, request: Request, parsers: Iterable[BaseParser]) -> BaseParser | None:
        media_type = request.content_type.partition(";")[0].strip().lower()
        for parser in parsers:
            if parser.media_type == media_type:
                return parser
        return None

    def select_renderer(
        self, request: Request, renderers: Iterable[BaseRenderer], format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str]:
        renderer = next(iter(renderers))
        return renderer, renderer.media_type


class JSONObjectParser(BaseParser):
    """Parse a JSON object with ``strict_json``."""

    media_type = "application/json"
    max_size = staticmethod(conf.max_body_size)

    def parse(
        self, stream: Any, media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        body = read_body(stream, self.max_size())
        try:
            value = strict_json.loads(body)
        except ValueError as error:
            raise ParseError(str(error)) from None
        if not isinstance(value, dict):
            raise ParseError("The body is not a JSON object.")
        return value


class BatchParser(JSONObjectParser):
    """Parse the body of a batch, which may be larger than other bodies."""

    max_size = staticmethod(conf.max_batch_size)
