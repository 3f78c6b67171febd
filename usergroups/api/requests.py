"""The request of an API view, with a strict query string.

BaseAPIView makes an APIRequest in place of DRF's request.
"""

from collections.abc import Collection, Iterable, Mapping
from types import MappingProxyType
from urllib.parse import parse_qsl

from django.contrib.auth.models import AnonymousUser
from django.utils.datastructures import MultiValueDict
from django.utils.functional import cached_property
from rest_framework.exceptions import ErrorDetail, ParseError, ValidationError
from rest_framework.request import Request

from .deadlines import Deadline
from .errors import MAX_PROBLEMS

MAX_QUERY_PARAMETERS = 100

# kinds of unknown names, whose last words are in their error codes
PARAMETER = "query parameter"
FIELD = "field"


class APIRequest(Request):
    """A request with a strict query string and a body that may be chunked."""

    deadline: Deadline
    """The time at which the call must end."""
    rate_limit_headers: Mapping[str, str] = MappingProxyType({})
    """The headers that tell how much of the rate limit is left."""

    @Request.user.setter  # type: ignore[untyped-decorator, attr-defined]
    def user(self, value: object) -> None:
        self._user = value
        # Middleware may take the user of Django's request for an account.
        self._request.user = AnonymousUser()

    @property
    def stream(self) -> Request:
        """The argument ``stream`` of the parsers, never None.

        DRF's is None without Content-Length, even if the body is chunked.
        """
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
    def query_params(self) -> MultiValueDict[str, str]:  # type: ignore[override]
        """Return the query parameters.

        Raises ParseError if the query string is not valid UTF-8, contains
        U+0000 or has more than 100 parameters. Django would replace invalid
        bytes.
        """
        query = self.META.get("QUERY_STRING", "")
        try:
            # WSGI passes bytes as Latin-1 text.
            text = query.encode("latin-1").decode()
            pairs = parse_qsl(
                text,
                keep_blank_values=True,
                errors="strict",
                max_num_fields=MAX_QUERY_PARAMETERS,
            )
        except ValueError:
            raise ParseError(
                "The query string is not UTF-8 or has too many parameters."
            ) from None
        parameters = MultiValueDict[str, str]()
        for name, value in pairs:
            if "\0" in name or "\0" in value:
                raise ParseError("Text must not contain U+0000.")
            parameters.appendlist(name, value)
        return parameters


def check_query_length(request: Request, limit: int) -> None:
    """Raise ParseError if the query string is longer than ``limit`` bytes."""
    if len(request.META.get("QUERY_STRING", "")) > limit:
        raise ParseError(f"The query string is longer than {limit} bytes.")


class RepeatedParameter(ValidationError):
    """The query string has a parameter more than once that takes one value."""

    def __init__(self, names: Iterable[str]) -> None:
        detail = ErrorDetail(
            "The query string has this parameter more than once.",
            "repeated_parameter",
        )
        super().__init__({name: [detail] for name in names})


class UnknownName(ValidationError):
    """The query string or the body has names that the operation does not know."""

    def __init__(self, names: Iterable[str], known: Iterable[str], kind: str) -> None:
        listed = ", ".join(known) or "none"
        code = f"unknown_{kind.rsplit(maxsplit=1)[-1]}"
        detail = ErrorDetail(f"Unknown {kind}. The operation has: {listed}.", code)
        super().__init__({name: [detail] for name in names})


def check_names(names: Iterable[str], known: Collection[str], kind: str) -> None:
    """Raise UnknownName if some names are not known, because a misspelt field
    must not be lost, and a misspelt filter would find every object.

    ``kind`` is PARAMETER or FIELD.
    """
    unknown = [name for name in names if name not in known]
    if unknown:
        # One more than a response may have shows that there are too many.
        raise UnknownName(unknown[: MAX_PROBLEMS + 1], known, kind)
