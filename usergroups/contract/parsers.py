"""From a request to the JSON object in its body."""

from collections.abc import Mapping
from typing import Any

from django.http import HttpRequest
from rest_framework.exceptions import ParseError
from rest_framework.parsers import BaseParser
from rest_framework.request import Request

from . import conf, strict_json
from .body import read_body


class BodyRequest(Request):
    """A request whose body is always parsed: DRF takes one without Content-Length for empty."""

    @property
    def stream(self) -> HttpRequest:
        return self._request


class JSONObjectParser(BaseParser):
    """Parses a body of the type ``application/json`` that must be an object, by the rules of strict_json."""

    media_type = "application/json"

    def parse(
        self, stream: Any, media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        body = read_body(stream, conf.max_body_size())
        try:
            value = strict_json.loads(body)
        except ValueError as error:
            raise ParseError(str(error)) from None
        if not isinstance(value, dict):
            raise ParseError("The body is not a JSON object.")
        return value
