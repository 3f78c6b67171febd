"""Read and parse bodies up to a limit.

JSONObjectParser is the parser of BaseAPIView, and BatchParser that of views for
batches. Imports of files call ``read_chunks``.
"""

from collections.abc import Iterable, Iterator, Mapping

from rest_framework.exceptions import APIException, ParseError, UnsupportedMediaType
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.parsers import BaseParser
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request

from . import conf, strict_json
from .requests import NOT_AN_OBJECT, APIRequest

CHUNK_SIZE = 64 * 1024


class UnsupportedEncoding(UnsupportedMediaType):
    """The body has a Content-Encoding, which is not decoded."""

    def __init__(self, encoding: str) -> None:
        super().__init__(
            encoding, f'Unsupported Content-Encoding "{encoding}". Send the plain body.'
        )


class UnsupportedType(UnsupportedMediaType):
    """The body has no Content-Type, or one that the operation does not take."""

    def __init__(self, content_type: str) -> None:
        detail = None
        if not content_type:
            detail = "The request has no Content-Type."
        super().__init__(content_type, detail)


class PayloadTooLarge(APIException):
    status_code = 413
    default_code = "payload_too_large"

    def __init__(self, limit: int) -> None:
        super().__init__(f"The body is larger than {limit} bytes.")


def read_chunks(request: APIRequest, limit: int) -> Iterator[bytes]:
    """Yield the body in chunks, without reading more than ``limit + 1`` bytes.

    Raises UnsupportedEncoding if the body is encoded, PayloadTooLarge if it
    exceeds ``limit`` bytes, and ParseError if it cannot be read, is shorter
    than its Content-Length, or has not arrived when the deadline of the
    request passes.
    """
    _check_encoding(request)
    length = request.content_length
    if length is not None and length > limit:
        raise PayloadTooLarge(limit)
    stream = request
    # Django treats a body without Content-Length as empty. Read a chunked body
    # directly from the WSGI server, if the server sets
    # ``wsgi.input_terminated``.
    if length is None and request.META.get("wsgi.input_terminated"):
        stream = request.META["wsgi.input"]
    size = 0
    while size != length:
        if size and request.deadline.has_passed():
            raise ParseError("The body did not arrive in time.")
        try:
            # One byte over the limit shows that the body is too large.
            chunk = stream.read(min(CHUNK_SIZE, limit + 1 - size))
        # WSGI servers raise different exceptions for truncated or badly
        # chunked bodies.
        except Exception:
            raise ParseError("The body could not be read.") from None
        if not chunk:
            break
        size += len(chunk)
        if size > limit:
            raise PayloadTooLarge(limit)
        yield chunk
    if length is not None and size < length:
        raise ParseError("The body is shorter than its Content-Length.")


def _check_encoding(request: APIRequest) -> None:
    """Raise UnsupportedEncoding if the body is encoded."""
    encoding = request.META.get("HTTP_CONTENT_ENCODING")
    if encoding and encoding.lower() != "identity":
        raise UnsupportedEncoding(encoding)


class JSONNegotiation(BaseContentNegotiation):
    """Select the parser by the exact media type, without parameters, and the
    only renderer, whatever Accept says.
    """

    def select_parser(
        self, request: Request, parsers: Iterable[BaseParser]
    ) -> BaseParser:
        """Return the parser. Raises UnsupportedType."""
        media_type = request.content_type.partition(";")[0].strip().lower()
        for parser in parsers:
            if parser.media_type == media_type:
                return parser
        raise UnsupportedType(request.content_type)

    def select_renderer(
        self,
        request: Request,
        renderers: Iterable[BaseRenderer],
        format_suffix: str | None = None,
    ) -> tuple[BaseRenderer, str]:
        [renderer] = renderers
        return renderer, renderer.media_type


class JSONObjectParser(BaseParser):
    """Parse a JSON object.

    ``check_fields`` refuses values that cannot be stored.
    """

    media_type = "application/json"
    max_size = staticmethod(conf.max_body_size)

    def parse(
        self,
        stream: APIRequest,  # type: ignore[override]
        media_type: str | None = None,
        parser_context: Mapping[str, object] | None = None,
    ) -> dict[str, object]:
        chunks = read_chunks(stream, self.max_size())
        return self.parse_body(b"".join(chunks))

    def parse_body(self, body: bytes) -> dict[str, object]:
        """Return the object. Raises ParseError."""
        try:
            value = strict_json.decode(body)
        except ValueError as error:
            code = getattr(error, "code", None)
            raise ParseError(f"JSON parse error: {error}", code) from None
        if not isinstance(value, dict):
            raise ParseError(NOT_AN_OBJECT)
        return value


class OptionalBodyParser(JSONObjectParser):
    """Parse an empty body as an empty object."""

    def parse_body(self, body: bytes) -> dict[str, object]:
        return super().parse_body(body or b"{}")


class NoBodyParser(JSONObjectParser):
    """Parse an empty body without a Content-Type as an empty object."""

    media_type = ""

    def parse_body(self, body: bytes) -> dict[str, object]:
        if body:
            raise UnsupportedType(self.media_type)
        return {}


class BatchParser(JSONObjectParser):
    """Parse the body of a batch, which may be larger than other bodies."""

    max_size = staticmethod(conf.max_batch_size)
