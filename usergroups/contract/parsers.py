"""From a request to its query parameters and to the JSON object in its body."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl

from django.http import HttpRequest
from rest_framework.exceptions import ParseError
from rest_framework.parsers import BaseParser
from rest_framework.request import Request

from . import conf, strict_json
from .body import read_body

MAX_QUERY_PARAMETERS = 100


class ContractRequest(Request):
    """A request that is read strictly: nothing in it is replaced or left out."""

    @property
    def stream(self) -> HttpRequest:
        # DRF takes a body without Content-Length for empty, even if it is chunked.
        return self._request

    @property
    def query_params(self) -> dict[str, str]:  # type: ignore[override]  # a name stands for one value; the last wins
        """Raises ParseError for what is not UTF-8, where Django would replace characters, and for U+0000."""
        query = self._request.META.get("QUERY_STRING", "")
        try:
            text = query.encode("latin-1").decode()  # WSGI's way to hand on bytes
            parameters = dict(
                parse_qsl(text, keep_blank_values=True, errors="strict", max_num_fields=MAX_QUERY_PARAMETERS)
            )
        except ValueError:
            raise ParseError("The query string is not UTF-8, or too long.") from None
        if any("\0" in text for pair in parameters.items() for text in pair):
            raise ParseError("Text may not contain U+0000.")
        return parameters


class JSONObjectParser(BaseParser):
    """Parses a body of the type ``application/json`` that must be an object, by the rules of strict_json."""

    media_type = "application/json"

    def max_body_size(self) -> int:
        return conf.max_body_size()

    def parse(
        self, stream: Any, media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        body = read_body(stream, self.max_body_size())
        try:
            value = strict_json.loads(body)
        except ValueError as error:
            raise ParseError(str(error)) from None
        if not isinstance(value, dict):
            raise ParseError("The body is not a JSON object.")
        return value
