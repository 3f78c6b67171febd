"""The base class of all API views.

DRF calls ``initial``, which checks the request, and then the method of the
subclass, which calls ``validated`` and ``respond``.
"""

from collections.abc import Callable, Collection, Hashable, Iterator, Mapping
from copy import copy
from typing import Any, ClassVar, NoReturn

from django.core.exceptions import ValidationError as DjangoValidationError
from django.db import IntegrityError, connections, router, transaction
from django.db.models import Model
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils import translation
from drf_spectacular.openapi import AutoSchema
from rest_framework.authentication import get_authorization_header
from rest_framework.exceptions import APIException, NotAuthenticated, ValidationError
from rest_framework.fields import get_error_detail
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import ListField, Serializer
from rest_framework.views import APIView

from usergroups.db.models import DatedModel
from usergroups.signals import actor

from . import conf
from .batches import FailedItem
from .bodies import LARGE_BODY_SIZE
from .body_fields import check_fields
from .concurrency import ANY_CALLS, COSTLY_CALLS, ConcurrencyLimit
from .deadlines import Deadline
from .errors import (
    COMMON_ANSWERS,
    NO_STORE,
    Answers,
    InvalidToken,
    WrongScheme,
    exception_handler,
    explain,
)
from .negotiation import JSONNegotiation
from .parsers import JSONObjectParser
from .preconditions import etag
from .renderers import CompactJSONRenderer
from .requests import (
    PARAMETER,
    APIRequest,
    RepeatedParameter,
    check_names,
    check_query_length,
)
from .serializer_pool import pool
from .throttling import TokenThrottle


class BaseAPIView(APIView):
    """The base class of all API views.

    A subclass sets ``authentication_classes`` and ``permission_classes``. The
    authentication sets ``request.auth`` to an object with an ``owner_key``, the
    model and the key of the owner, and a ``team_id``.

    It sets every DRF policy itself, so that the API does not depend on the
    host's REST_FRAMEWORK setting.
    """

    request_serializers: ClassVar[Mapping[str, type[Serializer[Any]]]] = {}
    """By method, the serializer of the query parameters
    (``methods_with_query``) or, for other methods, of the body.
    """
    response_serializers: ClassVar[Mapping[str, type[Serializer[Any]]]] = {}
    """By method, the serializer of a successful response."""
    methods_with_query: ClassVar[tuple[str, ...]] = ("GET", "DELETE")
    """The methods whose requests have validated query parameters.

    Other requests have a JSON object as body.
    """
    errors: ClassVar[Answers] = {}
    """The errors with which calls, and the items of batches, answer exceptions
    of the querysets, besides COMMON_ANSWERS.
    """
    costly_methods: ClassVar[Collection[str]] = ()
    """The methods whose calls are all costly: see ``is_costly``."""
    max_query_length: ClassVar[int] = 8 * 1024
    """The maximum length of the query string, in bytes."""

    request: APIRequest
    documented_method: str
    """The key of the mappings by method: the method of the request, or GET for
    HEAD.
    """

    http_method_names = ["get", "head", "post", "put", "patch", "delete"]
    renderer_classes = [CompactJSONRenderer]
    parser_classes = [JSONObjectParser]
    content_negotiation_class = JSONNegotiation
    throttle_classes = [TokenThrottle]
    versioning_class = None
    metadata_class = None
    schema = AutoSchema()
    # DRF reads this attribute. URLs have no format suffix such as ".json".
    format_kwarg = None

    def __init_subclass__(cls) -> None:
        """Describe a method that overrides another one as that one is
        described, unless it is decorated itself.

        The OpenAPI document and the metrics read the attributes of a method.
        """
        super().__init_subclass__()
        for name in cls.http_method_names:
            method = vars(cls).get(name)
            overridden = getattr(super(cls, cls), name, None)
            if method is not None and overridden is not None:
                method.__dict__ = {**vars(overridden), **vars(method)}

    @classmethod
    def as_view(cls, **initkwargs: object) -> Any:
        # Under ATOMIC_REQUESTS, Django would commit after the view has
        # returned, and the exception handler could not handle an error that
        # the commit raises.
        view = super().as_view(**initkwargs)
        for alias in connections:
            view = transaction.non_atomic_requests(alias)(view)
        return view

    @property
    def default_response_headers(self) -> dict[str, str]:
        headers = {**NO_STORE}
        # RFC 9110 requires the header of a 405.
        if self.request.method not in self.allowed_methods:
            headers["Allow"] = ", ".join(self.allowed_methods)
        return headers

    def dispatch(
        self, request: HttpRequest, *args: object, **kwargs: object
    ) -> HttpResponseBase:
        # The limits that count this call, with the owner that it counts for.
        self.counted_by: list[tuple[ConcurrencyLimit, Hashable]] = []
        # The actor is unknown until initial() has authenticated the token.
        actor_before = actor.set(None)
        try:
            # Keep DRF's error messages in English for clients of any language.
            with translation.override(None):
                return super().dispatch(request, *args, **kwargs)
        finally:
            for limit, owner in self.counted_by:
                limit.end(owner)
            actor.reset(actor_before)

    def initialize_request(
        self, request: HttpRequest, *args: object, **kwargs: object
    ) -> Request:
        api_request = APIRequest(
            request,
            parsers=self.get_parsers(),
            authenticators=self.get_authenticators(),
            negotiator=self.get_content_negotiator(),
            parser_context=self.get_parser_context(request),
        )
        # Each read of an attribute that DRF's request lacks raises and catches
        # an exception. These are read 12 times in a call.
        api_request.method = request.method
        api_request.META = request.META
        api_request.deadline = Deadline(conf.call_time_limit())
        return api_request

    def initial(self, request: Request, *args: object, **kwargs: object) -> None:
        """Check what can be checked before the body is read.

        This is the method, the authentication, the rate limit, the permission,
        the query string and the limits of calls in progress, in this order.
        DRF checks the method last and counts only permitted requests.
        """
        negotiated = self.perform_content_negotiation(request)
        request.accepted_renderer, request.accepted_media_type = negotiated
        method = str(request.method)
        if method not in self.allowed_methods:
            self.http_method_not_allowed(request)
        self.documented_method = method
        if method == "HEAD":
            self.documented_method = "GET"
        self.perform_authentication(request)
        self.check_throttles(request)
        self.check_permissions(request)
        if request.META.get("QUERY_STRING"):
            self.check_query(self.request)
        self.limit_calls_in_progress(self.request)
        actor.set(request.auth)

    def perform_authentication(self, request: Request) -> None:
        """Authenticate the request.

        Raises AuthenticationFailed, WrongScheme or NotAuthenticated.
        """
        # Reading ``auth`` calls the authenticators.
        if request.auth is None:
            self.refuse_credentials(request)

    def refuse_credentials(self, request: Request) -> NoReturn:
        """Raise WrongScheme or NotAuthenticated for a request without
        credentials of this view's scheme.
        """
        if get_authorization_header(request):
            authenticator = next(iter(self.get_authenticators()), None)
            raise WrongScheme(getattr(authenticator, "usage", None))
        raise NotAuthenticated

    def limit_calls_in_progress(self, request: APIRequest) -> None:
        """Wait until the limits allow the call, and count it until it ends.

        Raises Throttled. The body has not been read yet. A costly call waits
        for that limit first, so that the other calls of its owner go on.
        """
        if self.is_costly(request):
            token: Any = request.auth
            self.count_by(COSTLY_CALLS, token.team_id)
        self.count_by(ANY_CALLS, self.token_owner)

    def count_by(self, limit: ConcurrencyLimit, owner: Hashable) -> None:
        """Count the call by this limit until it ends. Raises Throttled."""
        limit.begin(owner)
        self.counted_by.append((limit, owner))

    @property
    def token_owner(self) -> tuple[type[Model], Any]:
        """The model and the key of the owner of the request's token."""
        token: Any = self.request.auth
        model, key = token.owner_key
        return model, key

    def is_costly(self, request: APIRequest) -> bool:
        """Return whether the call may take much time or memory.

        By default, these are calls with one of the ``costly_methods`` and
        calls with a body of more than 64 KiB or of unknown size. A subclass may
        add others.
        """
        if self.documented_method in self.costly_methods:
            return True
        size = request.content_length
        if size is None:
            # A chunked body, unless the method takes parameters only.
            has_body = self.documented_method not in self.methods_with_query
            return has_body and "wsgi.input_terminated" in request.META
        return size > LARGE_BODY_SIZE

    def check_query(self, request: APIRequest) -> None:
        """Raise ValidationError for unknown and for repeated query parameters.

        A method without serializers may have any parameters. Raises ParseError
        if the query string is longer than ``max_query_length``.
        """
        check_query_length(request, self.max_query_length)
        method = self.documented_method
        known: Mapping[str, object] = {}
        if self.has_query(method):
            known = pool.get(self.request_serializers[method], False).fields
        elif method not in {*self.request_serializers, *self.response_serializers}:
            return
        check_names(request.query_params, known, PARAMETER)
        repeated = []
        for name, values in request.query_params.lists():
            takes_list = isinstance(known[name], ListField)
            if len(values) > 1 and not takes_list:
                repeated.append(name)
        if repeated:
            raise RepeatedParameter(repeated)

    def finalize_response(
        self, request: Request, response: Response, *args: object, **kwargs: object
    ) -> Response:
        # DRF adds ``self.headers`` to the response.
        self.headers.update(self.request.rate_limit_headers)
        return super().finalize_response(request, response, *args, **kwargs)

    def get_exception_handler(self) -> Callable[..., Response]:
        return exception_handler

    def handle_exception(self, exc: Exception) -> Response:
        return super().handle_exception(self.explain(exc))

    def explain(self, error: Exception) -> Exception:
        """Return the error with which a call of this view answers an
        exception, or the same exception if that is a fault.
        """
        # for example, of a validator that a host has added to a field
        if isinstance(error, DjangoValidationError):
            return ValidationError(get_error_detail(error))
        explained = explain(error, {**COMMON_ANSWERS, **self.errors})
        if isinstance(explained, IntegrityError):
            return self.explain_integrity_error(explained)
        return explained

    def failed(self, error: Exception) -> FailedItem:
        """Return the result of an item of a batch for which a call of its own
        would raise this exception.
        """
        explained = self.explain(error)
        if not isinstance(explained, APIException):
            raise explained
        return FailedItem(explained)

    def explain_integrity_error(self, error: IntegrityError) -> Exception:
        """Return the error for a write that violated a constraint in each of
        its attempts.

        This is InvalidToken if the owner of the token was deleted during the
        request, and the token with it. Otherwise, it is the same error, which
        is a fault: repeating the call would not help.
        """
        if self.request.auth is None:
            return error
        model, key = self.token_owner
        owners = model._default_manager.using(router.db_for_write(model))
        if owners.filter(pk=key).exists():
            return error
        explained = InvalidToken()
        # so that the log has both errors
        explained.__cause__ = error
        return explained

    def validated(self) -> dict[str, Any]:
        """Return the validated query parameters of a request with one of the
        ``methods_with_query``, or the body.

        A PATCH request may omit required fields. Raises ValidationError.
        """
        method = self.documented_method
        serializer_class = self.request_serializers[method]
        has_body = method not in self.methods_with_query
        data: Any = self.request.data if has_body else self.query_data(serializer_class)
        context = self.get_serializer_context()
        is_partial = method == "PATCH"
        with pool.borrow(serializer_class, context, is_partial) as pooled:
            if has_body:
                check_fields(data, pooled)
            serializer = copy(pooled)
            serializer.initial_data = data
            serializer.is_valid(raise_exception=True)
            validated: dict[str, Any] = serializer.validated_data
        return validated

    def query_data(
        self, serializer_class: type[Serializer[Any]]
    ) -> dict[str, str | list[str]]:
        """Return the query parameters as data for a serializer: a list for a
        ListField, and the only value for any other field.

        With the dictionary of Django, DRF would read the data as that of an
        HTML form.
        """
        fields = pool.get(serializer_class, False).fields
        data: dict[str, str | list[str]] = {}
        for name, values in self.request.query_params.lists():
            is_list = isinstance(fields.get(name), ListField)
            data[name] = values if is_list else values[-1]
        return data

    def respond(
        self,
        fields: Mapping[str, object],
        *,
        etag_of: DatedModel | None = None,
        status: int = 200,
        location: str | None = None,
    ) -> Response:
        """Return a response with the fields of the envelope, and the ETag of
        the object ``etag_of`` if there is one.

        Whatever the call does has been done by now: a field must not be an
        iterator, which would do it when a serializer reads it, or never.
        """
        for name, value in fields.items():
            if isinstance(value, Iterator):
                raise TypeError(f"{name} is an iterator. Respond with a list.")
        headers = {}
        if etag_of is not None:
            headers["ETag"] = etag(etag_of.updated_at)
        if location is not None:
            headers["Location"] = location
        with pool.borrow(
            self.response_serializers[self.documented_method],
            self.get_serializer_context(),
        ) as serializer:
            data = serializer.to_representation(fields)
        return Response(data, status, headers=headers)

    def get_serializer_context(self) -> dict[str, object]:
        """Return the context of the serializers, as in DRF's generic views."""
        return {"request": self.request, "format": self.format_kwarg, "view": self}

    def has_query(self, method: str) -> bool:
        """Return whether the method's request serializer is for the query
        parameters, not for a body.
        """
        return method in self.methods_with_query and method in self.request_serializers
