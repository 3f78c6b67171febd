"""The base class of all API views.

DRF calls ``initial``, which checks the request, and then the method of the
subclass. Its steps have the names of DRF's generic views, from
``get_queryset`` to ``perform_update``, and ``respond`` makes the response.
"""

from collections.abc import (
    Callable,
    Collection,
    Iterable,
    Mapping,
    Sequence,
)
from functools import cache, partial
from typing import Any, ClassVar, cast

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db import IntegrityError, connections, router, transaction
from django.db.models import Model
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils import translation
from django.utils.functional import cached_property
from drf_spectacular.openapi import AutoSchema
from rest_framework.authentication import get_authorization_header
from rest_framework.exceptions import APIException, NotAuthenticated, ValidationError
from rest_framework.fields import empty
from rest_framework.filters import BaseFilterBackend
from rest_framework.generics import GenericAPIView
from rest_framework.pagination import BasePagination
from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import ListField

from usergroups.db.models import DatedModel
from usergroups.db.outcomes import valid_items, with_outcomes
from usergroups.signals import actor

from . import conf
from .batches import (
    FailedItem,
    Result,
    with_serializer,
)
from .closed_doors import refuse_closed_doors
from .errors import (
    COMMON_ANSWERS,
    NO_STORE,
    Answers,
    InvalidToken,
    WrongScheme,
    exception_handler,
    find_answer,
)
from .pagination import KeysetPagination, PageQuery, QueryFilter
from .parsers import JSONNegotiation, JSONObjectParser
from .preconditions import etag
from .requests import PARAMETER, APIRequest, check_fields, check_names, known_fields
from .serializers import (
    AnySerializer,
    SerializerClass,
    Validated,
    leave_out_omitted_fields,
    pool,
)
from .strict_json import CompactJSONRenderer
from .throttling import ANY_CALLS, COSTLY_CALLS, Deadline, TokenThrottle

NOT_OF_A_HOST = ("usergroups", "bookmarks", "rest_framework")

SELECTION = ("get_queryset", "filter_queryset", "get_object")
"""The methods by which a host selects objects."""


class BaseAPIView(GenericAPIView[Any]):
    """The base class of all API views.

    A subclass sets ``authentication_classes`` and ``permission_classes``. The
    authentication sets ``request.auth`` to an object with an ``owner_key``, the
    model and the key of the owner, and a ``team_id``.

    It sets every DRF policy itself, so that the API does not depend on the
    host's REST_FRAMEWORK setting.
    """

    request_serializers: ClassVar[Mapping[str, SerializerClass]] = {}
    """By method, the serializer of the query parameters
    (``methods_with_query``) or, for other methods, of the body.
    """
    response_serializers: ClassVar[Mapping[str, SerializerClass]] = {}
    """By method, the serializer of a successful response, its envelope."""
    serializer_class: SerializerClass | None = None
    """The serializer of the view's objects, in all its envelopes."""
    closed_doors: ClassVar[Mapping[str, str]] = {
        "queryset": "Override get_queryset().",
        "lookup_field": "Override get_object().",
        "lookup_url_kwarg": "Override get_object().",
        "throttle_scope": "Set the scope of a class in throttle_classes.",
        "filter_backends": "The view has no list.",
        "paginate_queryset": "The view has no list.",
    }
    """The attributes of DRF's views that have no effect in a subclass, each
    with a sentence that says what has.
    """
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
    object_name: ClassVar[str]
    """The field of the response with the object of a view of one."""

    request: APIRequest
    method_key: str
    """The key of the mappings by method: the method of the request, or GET for
    HEAD.
    """

    http_method_names = ["get", "head", "post", "put", "patch", "delete"]
    renderer_classes = [CompactJSONRenderer]
    parser_classes = [JSONObjectParser]
    content_negotiation_class = JSONNegotiation
    throttle_classes = [TokenThrottle]
    filter_backends: Sequence[type[BaseFilterBackend]] = ()
    pagination_class: type[BasePagination] | None = None
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
        parent = cast(type[BaseAPIView], super(cls, cls))
        if parent.request_serializers or parent.response_serializers:
            cls.refuse_what_has_no_effect(parent)
        for name in cls.http_method_names:
            method = vars(cls).get(name)
            overridden = getattr(parent, name, None)
            if method is not None and overridden is not None:
                method.__dict__ = {**vars(overridden), **vars(method)}

    @classmethod
    def refuse_what_has_no_effect(cls, parent: "type[BaseAPIView]") -> None:
        """Raise TypeError if the class sets what has no effect in a subclass of
        a view that has operations, or a class that does not derive from that of
        the view.
        """
        refuse_closed_doors(cls, parent.closed_doors)
        for method, serializer in parent.request_serializers.items():
            if method.lower() in cls.http_method_names:
                own_serializer = cls.request_serializers.get(method)
                name = f"request_serializers[{method}]"
                cls.require_base(name, own_serializer, serializer)
        for name in ("serializer_class", "pagination_class"):
            cls.require_base(name, getattr(cls, name), getattr(parent, name))

    @classmethod
    def require_base(cls, name: str, own: type | None, base: type | None) -> None:
        """Raise TypeError if the value of an attribute is no subclass of that of
        the view.
        """
        if base is None and own is not None:
            raise TypeError(
                f"{cls.__name__}.{name} has no effect. The view has no objects to "
                "list or to show."
            )
        if base is not None and not issubclass(own or object, base):
            raise TypeError(f"{cls.__name__}.{name} must derive from {base.__name__}.")

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
        method = str(self.request.method).lower()
        # RFC 9110 requires the header of a 405.
        if method not in self.http_method_names or not hasattr(self, method):
            headers["Allow"] = ", ".join(self.allowed_methods)
        return headers

    def dispatch(
        self, request: HttpRequest, *args: object, **kwargs: object
    ) -> HttpResponseBase:
        # what to do when the call has ended
        self.endings: list[Callable[[], None]] = []
        # The actor is unknown until initial() has authenticated the token.
        actor_before = actor.set(None)
        try:
            # Keep DRF's error messages in English for clients of any language.
            # This executes 2 % of the instructions of a call.
            if translation.get_language() == "en":
                return super().dispatch(request, *args, **kwargs)
            with translation.override(None):
                return super().dispatch(request, *args, **kwargs)
        finally:
            end_all(self.endings)
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

        These are DRF's steps, in an order of our own, and then the query string
        and the limits of calls in progress.
        """
        negotiated = self.perform_content_negotiation(request)
        request.accepted_renderer, request.accepted_media_type = negotiated
        # DRF checks the method last, but a 405 response needs no token.
        if "Allow" in self.headers:
            self.http_method_not_allowed(request)
        self.method_key = str(request.method)
        if self.method_key == "HEAD":
            self.method_key = "GET"
        if not settings.USE_TZ:
            raise ImproperlyConfigured("The apps need USE_TZ = True.")
        self.perform_authentication(request)
        # DRF counts only permitted calls, but others cost as much.
        self.check_throttles(request)
        self.check_permissions(request)
        # A view of a host without serializers may have any parameters.
        has_serializers = self.request_serializers or self.response_serializers
        if has_serializers and request.META.get("QUERY_STRING"):
            _ = self.query_data
        self.limit_calls_in_progress(self.request)
        actor.set(request.auth)

    def perform_authentication(self, request: Request) -> None:
        """Authenticate the request.

        Raises AuthenticationFailed or, without credentials of this view's
        scheme, WrongScheme or NotAuthenticated.
        """
        # Reading ``auth`` would do this in a context manager, for 1 % of a PUT.
        request._authenticate()  # type: ignore[attr-defined]
        # Without a token, ``auth`` is the host's UNAUTHENTICATED_TOKEN, which
        # may be any object. Only the class of a token has this property.
        if hasattr(type(request.auth), "owner_key"):
            return
        if get_authorization_header(request):
            authenticator = next(iter(self.get_authenticators()), None)
            raise WrongScheme(getattr(authenticator, "usage", None))
        raise NotAuthenticated

    def limit_calls_in_progress(self, request: APIRequest) -> None:
        """Wait until the limits allow the call, and count it until it ends.

        Raises Throttled. A waiting call holds no body, because it has not been
        read yet. Costly calls are counted by team, which may have any number of
        user groups. They wait for that limit first, so that the other calls of
        the owner go on.
        """
        if self.is_costly(request):
            team = request.auth.team_id
            COSTLY_CALLS.begin(team)
            self.endings.append(partial(COSTLY_CALLS.end, team))
        owner = request.auth.owner_key
        ANY_CALLS.begin(owner)
        self.endings.append(partial(ANY_CALLS.end, owner))

    def keep_counting(self) -> Callable[[], None]:
        """Count the call after its response has begun, until the returned
        function is called.
        """
        endings = self.endings
        self.endings = []
        return partial(end_all, endings)

    def is_costly(self, request: APIRequest) -> bool:
        """Return whether the call may take much time or memory.

        By default, these are calls with one of the ``costly_methods`` and
        calls with a body of more than 64 KiB or of unknown size. A subclass may
        add others.
        """
        if self.method_key in self.costly_methods:
            return True
        size = request.content_length
        if size is None:
            # A chunked body, unless the method takes parameters only.
            has_body = self.method_key not in self.methods_with_query
            return has_body and "wsgi.input_terminated" in request.META
        return size > conf.LARGE_BODY_SIZE

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
        """Translate an exception to the API error with which this view answers
        it. Return it unchanged if it has none, which means a bug (500).
        """
        answer = find_answer(error, {**COMMON_ANSWERS, **self.errors})
        if answer is error and isinstance(error, IntegrityError):
            return self.explain_integrity_error(error)
        return answer

    def explain_integrity_error(self, error: IntegrityError) -> Exception:
        """Return the error for a write that violated a constraint in each of
        its attempts.

        This is InvalidToken if the owner of the token was deleted during the
        request, and the token with it. Otherwise, it is the same error, which
        means a bug (500): repeating the call would not help.
        """
        model, key = self.request.auth.owner_key
        owners = model._default_manager.using(router.db_for_write(model))
        if owners.filter(pk=key).exists():
            return error
        explained = InvalidToken()
        # so that the log has both errors
        explained.__cause__ = error
        return explained

    def get_serializer_class(self) -> SerializerClass | None:  # type: ignore[override]
        """Return the serializer of the view's objects, if it has any."""
        return self.serializer_class

    def get_serializer(
        self, instance: object = None, data: Any = empty, **kwargs: Any
    ) -> AnySerializer:
        """Return a serializer: with ``data``, that of the request's method, and
        otherwise that of the view's objects.

        Raises ValidationError for the names of fields that it does not know.
        """
        kwargs.setdefault("context", self.get_serializer_context())
        if data is empty:
            serializer_class = cast(SerializerClass, self.get_serializer_class())
            return serializer_class(instance, **kwargs)
        method = self.method_key
        kwargs.setdefault("partial", method == "PATCH")
        # A view of a host may have only DRF's attribute.
        own_class = self.request_serializers.get(method)
        serializer_class = cast(
            SerializerClass, own_class or self.get_serializer_class()
        )
        serializer = pool.take(self.endings, serializer_class, **kwargs)
        serializer.instance = instance
        if method not in self.methods_with_query:
            check_fields(data, serializer)
        serializer.initial_data = data
        # The methods of a host's serializer may read all of its fields.
        if is_of_the_apps(serializer_class):
            leave_out_omitted_fields(serializer)
        return serializer

    @cached_property
    def valid_serializer(self) -> AnySerializer:
        """Return the serializer of the request, after validation.

        Its data are the query parameters of a request with one of the
        ``methods_with_query``, or the body. A PATCH request may omit required
        fields. Raises ValidationError.
        """
        data: object
        if self.method_key in self.methods_with_query:
            data = self.query_data
        else:
            data = self.request.data
        serializer = self.get_serializer(data=data)
        serializer.is_valid(raise_exception=True)
        return serializer

    @property
    def validated_data(self) -> Validated:
        """The validated query parameters or body. Raises ValidationError."""
        return cast(Validated, self.valid_serializer.validated_data)

    @cached_property
    def query_data(self) -> dict[str, str | list[str]]:
        """Return the query parameters as data for a serializer: a list for a
        ListField, and the only value for any other field.

        Raises ValidationError for unknown and for repeated parameters. With
        Django's QueryDict, DRF would read the data as that of an HTML form.
        """
        known: Mapping[str, object] = {}
        if self.has_query(self.method_key):
            known = known_fields(self.request_serializers[self.method_key])
        check_names(self.request.query_params, known, PARAMETER)
        data: dict[str, str | list[str]] = {}
        for name, values in self.request.query_params.lists():
            if isinstance(known[name], ListField):
                data[name] = values
                continue
            if len(values) > 1:
                detail = "The query has this parameter more than once."
                raise ValidationError({name: [detail]}, "repeated_parameter")
            data[name] = values[0]
        return data

    def get_envelope_class(self, method: str) -> SerializerClass:
        """Return the serializer of a successful response to the method, with
        the view's ``serializer_class``, if any, for the objects in it.
        """
        envelope = self.response_serializers[method]
        serializer_class = self.get_serializer_class()
        if serializer_class is None:
            return envelope
        return with_serializer(envelope, serializer_class)

    def respond(
        self,
        fields: Mapping[str, object],
        about: object = None,
        *,
        status: int = 200,
        location: str | None = None,
    ) -> Response:
        """Return a response with the fields of the envelope, and the ETag of
        the object ``about`` that it shows, if that has one.
        """
        headers = {}
        if isinstance(about, DatedModel):
            headers["ETag"] = etag(about.updated_at)
        if location is not None:
            headers["Location"] = location
        envelope = self.get_envelope_class(self.method_key)
        context = self.get_serializer_context()
        serializer = pool.take(self.endings, envelope, context)
        data = serializer.to_representation(fields)
        return Response(data, status, headers=headers)

    def has_object_permissions(self) -> bool:
        """Return whether a permission of the view checks objects."""
        return any(map(checks_objects, self.get_permissions()))

    @property
    def owner_of_list(self) -> object:
        """The owner of the objects that the token can list, to which the
        cursors of the lists are bound.
        """
        return self.request.auth.owner_key

    def has_query(self, method: str) -> bool:
        """Return whether the method's request serializer is for the query
        parameters, not for a body.
        """
        return method in self.methods_with_query and method in self.request_serializers


class ListMixin(BaseAPIView):
    """Lists objects, page by page."""

    filter_backends = [QueryFilter]
    pagination_class: type[KeysetPagination] = KeysetPagination
    closed_doors = {
        "queryset": "Override get_queryset().",
        "lookup_field": "The view has a list.",
        "lookup_url_kwarg": "The view has a list.",
        "throttle_scope": "Set the scope of a class in throttle_classes.",
        "page_size": "Set the default_limit of the pagination_class.",
        "search_fields": "Declare a filter in request_serializers.",
        "ordering": "Lists have one order, by time.",
        "ordering_fields": "Lists have one order, by time.",
    }
    list_name: ClassVar[str]
    """The field of the response with the objects."""

    def get(self, request: Request) -> Response:
        return self.list(request)

    @property
    def list_query(self) -> PageQuery:
        """The serializer of the query, after validation."""
        return cast(PageQuery, self.valid_serializer)

    def list(self, request: Request) -> Response:
        objects = self.filter_queryset(self.get_queryset())
        page = self.paginate_queryset(objects)
        return self.get_paginated_response(page)

    def get_paginated_response(self, data: object) -> Response:
        paginator = cast(KeysetPagination, self.paginator)
        return self.respond({self.list_name: data, **paginator.links()})


class CreateMixin(BaseAPIView):
    """Creates an object, or finds the one that is in its place."""

    created = True
    """Whether ``perform_create`` has created the object."""
    perform_create: Callable[[AnySerializer], None]
    location_of: Callable[..., str]
    """Returns the path at which a new object can be read."""

    def post(self, request: Request) -> Response:
        serializer = self.valid_serializer
        self.perform_create(serializer)
        found = serializer.instance
        fields = self.fields_of(found)
        if self.created:
            location = self.location_of(found)
            return self.respond(fields, found, status=201, location=location)
        self.check_object_permissions(request, found)
        return self.respond(fields, found)

    def fields_of(self, instance: Any) -> dict[str, object]:
        """Return the fields of the response."""
        return {self.object_name: instance}


class ObjectMixin(BaseAPIView):
    """Reads, changes or deletes one object.

    A queryset finds it by its key and owner in the statement that writes. It is
    read before that only for a host that selects objects or checks permissions
    in a subclass.
    """

    perform_update: Callable[[AnySerializer], None]
    """Changes the object, in one statement with the check of If-Match."""
    perform_destroy: Callable[..., object]
    """Deletes the object, which has been read only for a host."""
    find_object: Callable[[], Model]
    """Returns the object of the request. Raises DoesNotExist."""

    def retrieve(self, request: Request) -> Response:
        found = self.get_object()
        return self.respond({self.object_name: found}, found)

    def update(self, request: Request) -> Response:
        serializer = self.valid_serializer
        serializer.instance = self.check_object("perform_update")
        self.perform_update(serializer)
        return self.respond(
            {self.object_name: serializer.instance}, serializer.instance
        )

    def destroy(self, request: Request) -> Response:
        self.perform_destroy(self.check_object("perform_destroy"))
        return self.respond({})

    def check_object(self, step: str) -> object:
        """Return the object if the view's permissions have to check it, or if
        a host selects it or overrides this ``step``. Otherwise, return None.

        Raises DoesNotExist or PermissionDenied.
        """
        steps = (*SELECTION, step)
        if is_overridden(type(self), steps) or self.has_object_permissions():
            return self.get_object()
        return None

    def get_object(self) -> Any:
        found = self.find_object()
        self.check_object_permissions(self.request, found)
        return found


class BatchMixin(BaseAPIView):
    """Processes many objects, which a queryset finds by their ids."""

    closed_doors = {
        **BaseAPIView.closed_doors,
        "get_queryset": "A batch finds objects by their ids.",
        "get_object": "A batch finds objects by their ids.",
    }
    costly_methods = ("POST",)
    list_name: ClassVar[str]
    """The field of the request with the items, a BatchField."""
    perform_batch: Callable[..., Iterable[object]]
    """Processes the valid items, and returns an outcome for each: what
    ``result`` takes, or the exception that a call of its own would raise.
    """

    def check_permissions(self, request: Request) -> None:
        # so that a batch does not do what a call of its own must not do
        if self.has_object_permissions():
            raise TypeError(
                f"{type(self).__name__} calls no has_object_permission. Use "
                "has_permission, or do not mount the view."
            )
        super().check_permissions(request)

    def post(self, request: Request) -> Response:
        options = {**self.validated_data}
        items = options.pop(self.list_name)
        outcomes = self.perform_batch(valid_items(items), **options)
        return self.respond_results(
            [self.result_of(each) for each in with_outcomes(items, outcomes)]
        )

    def respond_results(self, results: Sequence[Result]) -> Response:
        return self.respond({"results": results})

    def result_of(self, outcome: object) -> Result:
        """Return the result of an item. Raises an exception that means a bug."""
        if not isinstance(outcome, Exception):
            return self.result(outcome)
        explained = self.explain(outcome)
        if not isinstance(explained, APIException):
            raise explained
        return FailedItem(explained)

    def result(self, outcome: Any) -> Result:
        """Return the result of an item that succeeded: by default, one of an
        outcome that tells whether the item has changed anything.
        """
        return {"status": 200, "changed": bool(outcome)}


class StoringBatchMixin(BatchMixin):
    """Processes many objects, and returns what it has stored."""

    def result(self, outcome: Any) -> Result:
        """Return the result of an item, of which the outcome says what has been
        stored, whether it was created, and whether it was created or changed.
        """
        stored, created, changed = outcome
        return {
            self.object_name: stored,
            "changed": changed,
            "updated_at": stored.updated_at,
            "status": 201 if created else 200,
        }


def end_all(endings: list[Callable[[], None]]) -> None:
    """Call what ends parts of a call."""
    for end in endings:
        end()


def checks_objects(permission: object) -> bool:
    """Return whether a permission has a ``has_object_permission`` of its own."""
    # That of a permission composed of others consists of theirs.
    operands = {"op1", "op2"} & vars(permission).keys()
    parts = [getattr(permission, name) for name in operands]
    if parts:
        return any(map(checks_objects, parts))
    checks = getattr(type(permission), "has_object_permission", None)
    return checks is not BasePermission.has_object_permission


def is_of_the_apps(defined: Any) -> bool:
    """Return whether no host has defined this class or function."""
    return defined.__module__.partition(".")[0] in NOT_OF_A_HOST


@cache
def is_overridden(view: type[BaseAPIView], names: tuple[str, ...]) -> bool:
    """Return whether a class outside the apps has replaced one of the methods."""
    return not all(is_of_the_apps(getattr(view, name)) for name in names)
