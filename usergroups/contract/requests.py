"""Read requests: the query string, the body, and the precondition If-Match."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qsl

from django.utils.functional import cached_property
from django.utils.http import parse_etags
from rest_framework.exceptions import (
    APIException,
    ErrorDetail,
    ParseError,
    ValidationError,
)
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.parsers import BaseParser
from rest_framework.request import Request

from . import conf, strict_json
from .deadlines import Deadline
from .errors import BadRequest

CHUNK_SIZE = 64 * 1024
LARGE_BODY_SIZE = 64 * 1024
"""The size in bytes above which a body makes a call costly."""


class PayloadTooLarge(APIException):
    status_code = 413
    default_code = "payload_too_large"

    def __init__(self, limit: int) -> None:
        super().__init__(f"The body is larger than {limit} bytes.")


def read_body(request: "APIRequest", limit: int) -> bytes:
    """Return the body, without reading more than ``limit + 1`` bytes of it.

    Raises PayloadTooLarge if the body exceeds ``limit`` bytes, and ParseError
    if it cannot be read, is shorter than its Content-Length, or has not
    arrived when the deadline of the request passes.
    """
    length = request.content_length
    if length is not None and length > limit:
        raise PayloadTooLarge(limit)
    # Django treats a body without Content-Length as empty. Read a chunked body
    # directly from the WSGI server, if the server sets
    # ``wsgi.input_terminated``.
    chunked = length is None and request.META.get("wsgi.input_terminated")
    stream = request.META["wsgi.input"] if chunked else request
    body = bytearray()
    while len(body) != length:
        if body and request.deadline.has_passed():
            raise ParseError("The body did not arrive in time.")
        try:
            chunk = stream.read(min(CHUNK_SIZE, limit + 1 - len(body)))
        # WSGI servers raise different exceptions for truncated or badly
        # chunked bodies
        except Exception:
            raise ParseError("The body could not be read.") from None
        if not chunk:
            break
        body += chunk
        if len(body) > limit:
            raise PayloadTooLarge(limit)
        if len(body) > LARGE_BODY_SIZE and request.on_large_body is not None:
            request.on_large_body()
            request.on_large_body = None
    if length is not None and len(body) < length:
        raise ParseError("The body is shorter than its Content-Length.")
    return bytes(body)


MAX_QUERY_PARAMETERS = 100


class APIRequest(Request):
    """A request with a strict query string and a body that may be chunked."""

    deadline: Deadline
    """The time at which the call must end."""
    on_large_body: Callable[[], None] | None = None
    """What to call, once, when more than LARGE_BODY_SIZE bytes of a body of
    unknown size have arrived, or None.
    """

    @property
    def stream(self) -> Request:
        # DRF treats a body without Content-Length as empty, even if it is
        # chunked.
        return self

    @cached_property
    def content_length(self) -> int | None:
        """Return the size of the body that the client has announced, or None."""
        length = self.META.get("CONTENT_LENGTH")
        if not length:
            return None
        try:
            return int(length)
        except ValueError:
            return None

    @cached_property
    def query_params(self) -> dict[str, str]:  # type: ignore[override]
        """Return the query parameters.

        The last value of a repeated parameter counts.

        Raises ParseError if the query string is not valid UTF-8, contains
        U+0000 or has more than 100 parameters. Django would replace invalid
        bytes.
        """
        query = self.META.get("QUERY_STRING", "")
        try:
            text = query.encode("latin-1").decode()  # WSGI passes bytes as Latin-1 text
            parameters = dict(
                parse_qsl(
                    text,
                    keep_blank_values=True,
                    errors="strict",
                    max_num_fields=MAX_QUERY_PARAMETERS,
                )
            )
        except ValueError:
            raise ParseError(
                "The query string is not UTF-8 or has too many parameters."
            ) from None
        if any("\0" in text for pair in parameters.items() for text in pair):
            raise ParseError("Text must not contain U+0000.")
        return parameters


def check_query_length(request: Request, limit: int) -> None:
    """Raise ParseError if the query string is longer than ``limit`` bytes."""
    if len(request.META.get("QUERY_STRING", "")) > limit:
        raise ParseError(f"The query string is longer than {limit} bytes.")


class UnknownParameter(ValidationError):
    """The query string has parameters that the operation does not know."""

    def __init__(self, names: Iterable[str], known: Iterable[str] = ()) -> None:
        names_known = ", ".join(known) or "none"
        detail = ErrorDetail(
            f"Unknown query parameter. The operation has: {names_known}.",
            "unknown_parameter",
        )
        super().__init__({name: [detail] for name in names})


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


class TooManyValuesInBody(ParseError):
    default_code = "too_many_values"
    default_detail = (
        f"The body has more than {strict_json.MAX_VALUES:,} JSON values. Commas and "
        "opening brackets outside strings are counted."
    )


class JSONObjectParser(BaseParser):
    """Parse a JSON object with ``strict_json``."""

    media_type = "application/json"
    max_size = staticmethod(conf.max_body_size)

    def parse(
        self,
        stream: Any,
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        body = read_body(stream, self.max_size())
        try:
            value = strict_json.loads(body)
        except strict_json.TooManyValues:
            raise TooManyValuesInBody from None
        except ValueError as error:
            raise ParseError(str(error)) from None
        if not isinstance(value, dict):
            raise ParseError("The body is not a JSON object.")
        return value


class BatchParser(JSONObjectParser):
    """Parse the body of a batch, which may be larger than other bodies."""

    max_size = staticmethod(conf.max_batch_size)


EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)

_ETAG = re.compile(r'"([0-9a-f]{1,14})"')  # 14 digits last until the year 4253


class PreconditionFailed(APIException):
    status_code = 412
    default_code = "precondition_failed"
    default_detail = (
        "The object has changed, so its ETag does not match If-Match. Read it again."
    )


def etag(updated_at: datetime) -> str:
    """Return the ETag of an object that was last changed at this time: the
    microseconds since 1970, in hexadecimal.
    """
    return f'"{(updated_at - EPOCH) // MICROSECOND:x}"'


MAX_ETAGS = 100


def accepted_versions(request: Request) -> Sequence[datetime] | None:
    """Return the values of ``updated_at`` that If-Match accepts, or None for
    any.

    An invalid ETag matches no value. Raises BadRequest if there are more than
    MAX_ETAGS.
    """
    header = request.META.get("HTTP_IF_MATCH")
    if header is None or header.strip() == "*":
        return None
    if header.count(",") >= MAX_ETAGS:
        raise BadRequest(f"If-Match has more than {MAX_ETAGS} ETags.")
    matches = (_ETAG.fullmatch(tag) for tag in parse_etags(header))
    return [EPOCH + int(match[1], 16) * MICROSECOND for match in matches if match]
