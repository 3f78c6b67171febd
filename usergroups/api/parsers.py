"""Parse bodies that are JSON objects.

JSONObjectParser is the parser of BaseAPIView, and BatchParser that of views for
batches.
"""

from collections.abc import Mapping

from rest_framework.exceptions import ParseError
from rest_framework.parsers import BaseParser

from . import conf, strict_json
from .bodies import read_body
from .requests import APIRequest

NOT_AN_OBJECT = "The body is not a JSON object."


class TooManyValuesInBody(ParseError):
    default_code = "too_many_values"
    default_detail = (
        f"The body has more than {strict_json.MAX_VALUES:,} JSON values. Commas and "
        "opening brackets outside strings are counted."
    )


class JSONObjectParser(BaseParser):
    """Parse a JSON object with ``strict_json``.

    Values that cannot be stored are not refused here, but by ``check_fields``.
    """

    media_type = "application/json"
    max_size = staticmethod(conf.max_body_size)

    def parse(
        self,
        stream: APIRequest,  # type: ignore[override]
        media_type: str | None = None,
        parser_context: Mapping[str, object] | None = None,
    ) -> dict[str, object]:
        body = read_body(stream, self.max_size())
        try:
            value = strict_json.loads_unchecked(body)
        except strict_json.TooManyValues:
            raise TooManyValuesInBody from None
        except ValueError as error:
            raise ParseError(str(error)) from None
        if not isinstance(value, dict):
            raise ParseError(NOT_AN_OBJECT)
        return value


class BatchParser(JSONObjectParser):
    """Parse the body of a batch, which may be larger than other bodies."""

    max_size = staticmethod(conf.max_batch_size)
