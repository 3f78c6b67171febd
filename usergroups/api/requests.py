"""The request of an API view: its query string, its fields, and the address of
its client.

BaseAPIView makes an APIRequest in place of DRF's request.
"""

from collections.abc import Collection, Iterable, Mapping
from functools import cache
from ipaddress import IPv6Address, ip_address
from itertools import filterfalse
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import parse_qsl

from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import ValidationError as DjangoValidationError
from django.db.models import Model
from django.http import HttpRequest
from django.utils.datastructures import MultiValueDict
from django.utils.functional import cached_property
from rest_framework.exceptions import ParseError, ValidationError
from rest_framework.fields import get_error_detail
from rest_framework.request import Request

from usergroups.db.storable_text import require_storable_json

from . import conf
from .errors import MAX_PROBLEMS
from .serializers import AnySerializer, SerializerClass

if TYPE_CHECKING:
    from .throttling import Deadline


def address_of(request: HttpRequest | Request) -> str | None:
    """Return the address of the client, as the outermost trusted proxy saw it,
    or None if it is unknown.

    For IPv6 this is the first address of the /64 network, since a client
    usually has a whole network. An IPv4-mapped address counts as the IPv4
    address. The address is unknown if it is not valid, for example because it
    has a port, if X-Forwarded-For has fewer addresses than there are trusted
    proxies or, without any, if the server listens on a Unix socket. API
    clients with unknown addresses must not share a rate limit.
    """
    proxies = conf.trusted_proxies()
    try:
        if proxies > 0:
            # Each proxy appends the address that it sees. Addresses before
            # those of the trusted proxies may be forged.
            hops = request.META.get("HTTP_X_FORWARDED_FOR", "").split(",")
            text = hops[-proxies].strip()
        else:
            text = request.META.get("REMOTE_ADDR") or ""
        address = ip_address(text)
    except (IndexError, ValueError):
        return None
    if isinstance(address, IPv6Address):
        # Set the last 64 bits to zero.
        network = IPv6Address(int(address) >> 64 << 64)
        return str(address.ipv4_mapped or network)
    return str(address)


MAX_QUERY_PARAMETERS = 100

# kinds of unknown names
PARAMETER = "parameter"
FIELD = "field"


class RequestToken(Protocol):
    """What the views need of the token of a request."""

    owner_key: tuple[type[Model], object]
    """The model and the key of the owner."""
    team_id: int


class APIRequest(Request):
    """A request with a strict query string and a body that may be chunked."""

    auth: RequestToken
    deadline: "Deadline"
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


class UnknownName(ValidationError):
    """The query string or the body has names that the operation does not know."""

    def __init__(self, names: Iterable[str], known: Iterable[str], kind: str) -> None:
        listed = ", ".join(known) or "none"
        detail = f"Unknown {kind}. The operation has: {listed}."
        super().__init__({name: [detail] for name in names}, f"unknown_{kind}")


def check_names(names: Iterable[str], known: Collection[str], kind: str) -> None:
    """Raise UnknownName if some names are not known, because a misspelt field
    must not be lost, and a misspelt filter would find every object.

    ``kind`` is PARAMETER or FIELD.
    """
    unknown = [*filterfalse(known.__contains__, names)]
    if unknown:
        # One more than a response may have shows that there are too many.
        raise UnknownName(unknown[: MAX_PROBLEMS + 1], known, kind)


def check_fields(data: Mapping[str, object], serializer: AnySerializer) -> None:
    """Raise ValidationError for fields with values that cannot be stored, or
    else for fields that the serializer does not know, because a misspelt one
    must not be lost.
    """
    # A parser of the host may return anything.
    if not isinstance(data, dict):
        raise ParseError(NOT_AN_OBJECT)
    values = {**data}
    for name in data:
        # A BatchField reports the errors of its items in their results.
        if hasattr(serializer.fields.get(name), "has_results"):
            values[name] = None
    try:
        require_storable_json(values)
    except DjangoValidationError:
        raise ValidationError(_unstorable_fields(values)) from None
    view = serializer.context.get("view")
    represented = view.get_serializer_class() if view is not None else None
    check_names(data, known_fields(type(serializer), represented), FIELD)


NOT_AN_OBJECT = "The body is not a JSON object."


@cache
def known_fields(
    serializer: SerializerClass, represented: SerializerClass | None = None
) -> Mapping[str, object]:
    """Return the fields that a body of this class may have, by name.

    The attribute ``answer`` of the class is the serializer of answers about
    the same object, if what was read can be sent back. Those of its fields
    that the class lacks are ignored, and so are those of ``represented``, the
    serializer of the view.
    """
    fields = {**serializer().fields}
    answer: SerializerClass | None = getattr(serializer, "answer", None)
    if answer is not None:
        for answered in (answer, represented or answer):
            fields = {**answered().fields, **fields}
    return dict(sorted(fields.items()))


def _unstorable_fields(values: Mapping[str, object]) -> dict[str, Any]:
    """Return an error for each field whose name or value cannot be stored, but
    stop after more errors than a response may have.
    """
    problems: dict[str, object] = {}
    for name, value in values.items():
        try:
            require_storable_json({name: value})
        except DjangoValidationError as error:
            problems[name] = get_error_detail(error)
        if len(problems) > MAX_PROBLEMS:
            break
    return problems
