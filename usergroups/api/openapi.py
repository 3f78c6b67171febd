"""Describe the operations of API views in OpenAPI.

``operation`` describes one operation. ``OperationSchema`` adds what all
operations have in common: headers, and errors with their codes.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from django.apps import apps
from django.db.models import ProtectedError
from django.utils import translation
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.plumbing import ResolvedComponent
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import (
    OpenApiExample,
    OpenApiParameter,
    OpenApiRequest,
    OpenApiResponse,
    extend_schema,
)
from rest_framework import exceptions
from rest_framework.exceptions import APIException
from rest_framework.fields import empty
from rest_framework.permissions import SAFE_METHODS
from rest_framework.serializers import Serializer

from usergroups.db.versions import Modified

from .conf import DEFAULT_MAX_BODY_SIZE
from .envelopes import ERROR_CODE, FailureSerializer, open_enumeration
from .errors import (
    TOO_MANY,
    BadRequest,
    DatabaseUnavailable,
    InvalidToken,
    ServerError,
    WrongScheme,
    WrongTokenKind,
    failure,
)
from .pagination import LATEST, Cursor, Key, KeysetPagination, PageQuery
from .parsers import PayloadTooLarge, TooManyValuesInBody
from .requests import PARAMETER, RepeatedParameter, UnknownName
from .views import BaseAPIView

# Examples of the errors that all operations can return. Without a language,
# DRF's details are in English, as in the responses.
with translation.override(None):
    COMMON_ERRORS: list[APIException] = [
        BadRequest(),
        exceptions.ParseError(
            "The query string is not UTF-8 or has too many parameters."
        ),
        UnknownName(["update_since"], ["updated_since"], PARAMETER),
        RepeatedParameter(["limit"]),
        exceptions.NotAuthenticated(),
        WrongScheme("This path takes another scheme."),
        InvalidToken(),
        WrongTokenKind("The token is of another kind."),
        exceptions.MethodNotAllowed("TRACE"),
        exceptions.Throttled(17),
        ServerError(),
        DatabaseUnavailable(),
    ]
    ERRORS_OF_BODIES: list[APIException] = [
        PayloadTooLarge(DEFAULT_MAX_BODY_SIZE),
        exceptions.UnsupportedMediaType("text/plain"),
    ]
    # An id that contains a slash is another path.
    UNKNOWN_PATH = exceptions.NotFound()

# for the errors of an operation that deletes
PROTECTED = ProtectedError("", set())


ERROR_DESCRIPTIONS = {
    400: "The request is malformed, or a field is missing or invalid.",
    401: "The request has no valid token of the required scheme.",
    403: "The token does not permit the request.",
    404: "The object does not exist, or belongs to another owner.",
    405: "The path does not offer this method.",
    409: "The change would create a duplicate, or other objects prevent the deletion.",
    410: "Deletions are not listed for that long.",
    412: "The ETag of the object does not match If-Match.",
    413: "The body exceeds the size limit.",
    415: (
        "The operation does not take a body with this Content-Type, or with a "
        "Content-Encoding."
    ),
    429: (
        "Too many requests with this token, too many calls of its owner in progress, "
        "or too many failed authentications from this address."
    ),
    500: "Internal error.",
    503: (
        "The database is unreachable, overloaded or read-only, the server cannot "
        "store a file, or the call took too long."
    ),
}

SUCCESSFUL = [200, 201]
# The statuses of calls that the rate limit counts. Calls with 401 and 405 are
# refused before.
COUNTED = [*SUCCESSFUL, 400, 403, 404, 409, 410, 412, 413, 415, 429, 500, 503]


def response_header(
    name: str,
    description: str,
    statuses: list[int],
    type_: type | OpenApiTypes = str,
) -> OpenApiParameter:
    """Document a header of the responses with these statuses."""
    return OpenApiParameter(
        name, type_, "header", description=description, response=statuses
    )


COMMON_HEADERS = [
    response_header("Cache-Control", "Always `no-store`.", [*COUNTED, 401, 405]),
    response_header(
        "Location",
        "The URL of the new object or of its list or, with 409, of the object in the "
        "way.",
        [201, 409],
        OpenApiTypes.URI_REF,
    ),
    response_header("WWW-Authenticate", "The required scheme.", [401]),
    response_header("Allow", "The methods that the path offers.", [405]),
    response_header(
        "Retry-After",
        "Seconds to wait before repeating the request.",
        [429, 503],
        int,
    ),
    response_header(
        "RateLimit",
        "The remaining calls, and the seconds until the window ends.",
        COUNTED,
    ),
    response_header(
        "RateLimit-Policy",
        "The calls allowed per window, and its length in seconds.",
        COUNTED,
    ),
]

ETAG = response_header("ETag", "Changes with every change of the object.", SUCCESSFUL)

IF_MATCH = OpenApiParameter(
    "If-Match",
    str,
    "header",
    description=(
        "An ETag. If the object has changed since, the request is refused with 412."
    ),
    examples=[OpenApiExample("Any state", "*")],
)


def id_parameter(description: str, example: str) -> OpenApiParameter:
    """Document the id in the path."""
    return OpenApiParameter(
        "id",
        str,
        "path",
        description=description,
        examples=[OpenApiExample("Id", example)],
    )


def page_query(
    serializer_class: type[PageQuery], key: Key, **filters: object
) -> dict[str, object]:
    """Return an example of the query parameters of a list: these filters, and
    a cursor with this key.
    """
    query = {**filters, "limit": 50, "order": "newest"}
    serializer = serializer_class()
    list_digest = serializer.list_digest(serializer.to_internal_value(query))
    # The page after this cursor is the first one, so that the example works.
    cursor = Cursor(LATEST, key, False, None, list_digest)
    return {**query, "cursor": cursor.encode()}


def success_response(description: str, **example: object) -> OpenApiResponse:
    """Document a successful response, with an example of the envelope's
    fields.
    """
    return OpenApiResponse(
        description=description,
        examples=[OpenApiExample("Success", {"success": 1, **example})],
    )


page_response = partial(success_response, next=None, previous=None)


Schema = dict[str, Any]
"""A part of an OpenAPI document, by the keys of the specification."""

Responses = dict[int | tuple[int, str], OpenApiResponse]
"""The successful responses of an operation, by status, or by status and media
type.
"""

Endpoint = tuple[str, str, str, Any]
"""An operation, as drf-spectacular passes it to hooks: its path, the regular
expression of the path, its method and its view.
"""


@dataclass(frozen=True)
class Operation:
    """The part of a description that ``extend_schema`` cannot take, because it
    needs the serializers of the view.
    """

    query: Mapping[str, object]
    body: object
    responses: Responses
    errors: Sequence[Exception]
    failures: Mapping[int, type[FailureSerializer]]


Handler = TypeVar("Handler", bound=Callable[..., object])


def operation(
    operation_id: str,
    *,
    summary: str,
    tags: list[str],
    responses: Responses,
    description: str = "",
    parameters: Sequence[OpenApiParameter] = (),
    query: Mapping[str, object] = {},
    body: object = None,
    request: object = empty,
    errors: Sequence[Exception] = (),
    failures: Mapping[int, type[FailureSerializer]] = {},
) -> Callable[[Handler], Handler]:
    """Describe a method of a BaseAPIView.

    The arguments are those of drf-spectacular's ``extend_schema``, except for:

    - ``responses``: the successful responses. Without a serializer, a response
      has the one of the view.
    - ``query``: an example of each query parameter.
    - ``body``: an example of the JSON body. ``request`` is for other bodies.
    - ``errors``: the exceptions of this operation, which the view answers.
      OperationSchema adds those that other operations have too.
    - ``failures``: the serializers of error responses with further fields, by
      status.
    """
    extend = extend_schema(
        operation_id,
        summary=summary,
        tags=tags,
        description=description or f"{summary}.",
        parameters=[*parameters],
        request=request,
    )

    def decorate(method: Handler) -> Handler:
        # extend_schema extends the class that it finds here, or else the host's
        # DEFAULT_SCHEMA_CLASS.
        method.kwargs = {"schema": OperationSchema}  # type: ignore[attr-defined]
        # The metrics have this id.
        method.operation_id = operation_id  # type: ignore[attr-defined]
        described = Operation(query, body, responses, errors, failures)
        method.operation = described  # type: ignore[attr-defined]
        return extend(method)

    return decorate


class OperationSchema(AutoSchema):
    """Describes a method that ``operation`` decorates.

    The names of components begin with the label of the app that defines them,
    so that they differ from the names in a host project.
    """

    view: BaseAPIView  # type: ignore[override]  # AutoSchema's is any APIView

    @property
    def operation(self) -> Operation:
        described: Operation = getattr(self.view, self.method.lower()).operation
        return described

    @property
    def serializer(self) -> type[Serializer[Any]]:
        """The serializer of the query or of the JSON body."""
        return self.view.request_serializers.get(self.method, Serializer)

    def get_operation(self, *args: Any, **kwargs: Any) -> Schema | None:
        described = super().get_operation(*args, **kwargs)
        if described is None:
            return None
        if "requestBody" in described:
            described["requestBody"]["required"] = True
        for parameter in described.get("parameters", []):
            name = parameter["name"]
            if name in self.operation.query:
                parameter["example"] = self.operation.query[name]
            if name == "limit":
                self._describe_limit(parameter)
            if "enum" in parameter["schema"]:
                # Code generators cannot handle both enum and minLength.
                parameter["schema"].pop("minLength", None)
                # Only drf-spectacular's enum hook needs this key.
                parameter["schema"].pop("x-spec-enum-id", None)
        responses = described["responses"]
        for status, response in responses.items():
            # Operations share these responses. The codes of 400 are those of
            # the operation's own fields.
            if int(status) > 400:
                responses[status] = self._shared(response)
        self._add_error_codes()
        return described

    def _describe_limit(self, parameter: Schema) -> None:
        """Describe the limits of the view's paginator."""
        paginator = self.view.paginator
        if isinstance(paginator, KeysetPagination):
            maximum = paginator.max_limit
            parameter["schema"]["default"] = paginator.default_limit
            parameter["description"] = (
                "The maximum number of items on the page. Values over "
                f"{maximum} count as {maximum}."
            )

    def get_serializer_name(self, serializer: object, direction: object) -> str:
        return component_name(type(serializer))

    def get_override_parameters(self) -> list[Any]:
        """Return the common headers and the query parameters.
        ``extend_schema`` adds the other parameters of the operation.
        """
        parameters: list[Any] = [*COMMON_HEADERS]
        if self.view.has_query(self.method):
            parameters.append(self.serializer)
        return parameters

    def get_request_serializer(self) -> Any:
        if self.operation.body is None:
            return None
        examples = [OpenApiExample("Request", self.operation.body)]
        if self._is_replaced("request_serializers"):
            examples = []
        return OpenApiRequest(self.serializer, examples=examples)

    def get_response_serializers(self) -> Responses:  # type: ignore[override]
        is_replaced = self._is_replaced("response_serializers")
        default = None
        if self.method in self.view.response_serializers:
            default = self.view.get_envelope_class(self.method)
        responses: Responses = {}
        for key, response in self.operation.responses.items():
            serializer = response.response or default
            examples = [] if is_replaced else response.examples
            responses[key] = OpenApiResponse(serializer, response.description, examples)
        errors = defaultdict(list)
        for error in self.get_errors():
            errors[error.status_code].append(error)
        for status in sorted(errors):
            responses[status] = self._error_response(status, errors[status])
        return responses

    def get_errors(self) -> list[APIException]:
        """Return the errors that the operation can return.

        Those of invalid fields are examples only.
        """
        errors = [*COMMON_ERRORS]
        for error in self.operation.errors:
            errors.append(self._explain(error))
        safe_methods = [*SAFE_METHODS, *getattr(self.view, "safe_methods", ())]
        is_read = self.method in safe_methods
        for permission in self.view.get_permissions():
            if not is_read or getattr(permission, "applies_to_reads", True):
                message = getattr(permission, "message", None)
                code = getattr(permission, "code", None)
                errors.append(exceptions.PermissionDenied(message, code))
        if self.get_request_serializer():
            errors += ERRORS_OF_BODIES
        if self.operation.body:
            errors.append(TooManyValuesInBody())
        # The path contains an id.
        if "{" in self.path:
            errors.append(UNKNOWN_PATH)
        if IF_MATCH in self.get_override_parameters():
            errors.append(self._explain(Modified()))
        return errors

    def _explain(self, error: Exception) -> APIException:
        """Return the error with which the view answers an exception."""
        explained = self.view.explain(error)
        if not isinstance(explained, APIException):
            raise TypeError(f"The view does not answer {error!r}.")
        return explained

    def _error_response(
        self, status: int, errors: list[APIException]
    ) -> OpenApiResponse:
        codes = codes_of_errors(errors)
        if status == 400:
            codes |= self._codes_of_fields()
        listed = ", ".join(f"`{code}`" for code in sorted(codes))
        serializer = self.operation.failures.get(status, FailureSerializer)
        # A host may answer with another status.
        meaning = ERROR_DESCRIPTIONS.get(status, "The request is refused.")
        description = f"{meaning} Codes: {listed}."
        examples = [error_example(error) for error in errors]
        return OpenApiResponse(serializer, description, examples)

    def _codes_of_fields(self, *, with_items: bool = False) -> set[str]:
        """Return the codes of errors in the fields of the request, and with
        ``with_items`` also of those in the items of a batch.
        """
        codes: set[str] = set()
        if self.operation.body:
            # Each unknown name in an object is an error, so that there can be
            # too many.
            codes |= {*CODES_OF_BODIES, TOO_MANY["code"]}
        serializer = self.serializer(partial=self.method == "PATCH")
        for field in serializer.fields.values():
            codes |= codes_of_field(field, with_items=with_items)
        if self.view.has_query(self.method):
            codes.discard("null")  # A query parameter is never null.
        return codes

    def _add_error_codes(self) -> None:
        """Add the operation's codes to the list of all codes."""
        component = self.registry["UsergroupsErrorCode", "schemas"]
        codes = set(component.schema["x-extensible-enum"])
        codes |= codes_of_errors(self.get_errors())
        codes |= self._codes_of_fields(with_items=True)
        component.schema = open_enumeration(ERROR_CODE, sorted(codes))

    def _is_replaced(self, mapping: str) -> bool:
        """Return whether a host's subclass has replaced the serializer that the
        examples were written for.
        """
        name = self.method.lower()
        views = [view for view in type(self.view).__mro__ if name in vars(view)]
        # The last class with the method is the apps' own view.
        original = getattr(views[-1], mapping).get(self.method)
        if mapping == "response_serializers" and original is not None:
            return self.view.get_envelope_class(self.method) is not original
        return getattr(self.view, mapping).get(self.method) is not original

    def _shared(self, response: Schema) -> Schema:
        """Return a reference to a component with this error response, or the
        response if another one has the name.
        """
        # Each response has one media type. Its component is named after the
        # examples, so that other operations with the same errors share it.
        [content] = response["content"].values()
        name = "Or".join(sorted(content["examples"]))
        component = ResolvedComponent(  # type: ignore[no-untyped-call]
            f"Usergroups{name}", "responses", response, OperationSchema
        )
        self.registry.register_on_missing(component)
        if self.registry[component].schema == response:
            return component.ref
        return response


UNREACHABLE_CODES = {
    "date",  # for values that do not come from a request
    "make_aware",
    "not_a_dict",  # ObjectField reports "not_an_object" instead
    "min_length",  # an empty value is reported as "blank" first
    # in fields; CODES_OF_BODIES has them
    "null_characters_not_allowed",
    "surrogate_characters_not_allowed",
}
"""Codes that the fields of DRF declare and a request cannot cause."""


CODES_OF_BODIES = {
    "unknown_field",
    "null_characters_not_allowed",
    "surrogate_characters_not_allowed",
    "overflow",
}
"""The codes of errors that ``check_fields`` reports for any JSON body."""


def codes_of_field(field: Any, *, with_items: bool) -> set[str]:
    """Return the codes of all errors that the validation of a field, with the
    fields in it, can report.

    ``with_items`` tells whether to include the codes of the items of a
    BatchField. Their errors are in results, not in an error response.
    """
    # A field has messages for the codes of limits that it lacks. The limits that
    # it has are validators, which are added below.
    impossible = {"max_length", "min_value", "max_value"}
    if not field.required or getattr(field.root, "partial", False):
        impossible.add("required")
    if field.allow_null:
        impossible.add("null")
    if getattr(field, "allow_blank", True):
        impossible.add("blank")
    if getattr(field, "allow_empty", True):
        impossible.add("empty")
    codes = set(field.error_messages) - impossible
    for validator in field.validators:
        codes.add(getattr(validator, "code", "invalid"))
    children = list(getattr(field, "fields", {}).values())
    is_batch = hasattr(field, "has_results")
    if hasattr(field, "child") and (with_items or not is_batch):
        children.append(field.child)
    for child in children:
        codes |= codes_of_field(child, with_items=with_items)
    return codes - UNREACHABLE_CODES


def codes_of_errors(errors: Sequence[APIException]) -> set[str]:
    """Return the codes in the bodies of error responses."""
    codes = set()
    for error in errors:
        codes |= {problem["code"] for problem in failure(error)["errors"]}
    return codes


def error_example(error: APIException) -> OpenApiExample:
    """Return an error response as an example that is named after its code and
    field.
    """
    body = failure(error)
    problem = body["errors"][0]
    name = problem["code"]
    if problem["attr"]:
        name = f"{name} at {problem['attr']}"
    return OpenApiExample(class_name(name), body)


def class_name(name: str) -> str:
    """Return the name of a class or component for a name with underscores or
    spaces.
    """
    return "".join(filter(str.isalnum, name.title()))


def component_name(described: type) -> str:
    """Return the name of the component that describes a class in the OpenAPI
    document.
    """
    app = apps.get_containing_app_config(described.__module__)
    if app is None:
        return described.__name__
    return f"{class_name(app.label)}{described.__name__}"


def exclude_replaced_views(endpoints: list[Endpoint]) -> list[Endpoint]:
    """Exclude a view from an OpenAPI document if the URLconf has a subclass of
    it for the same path.

    For drf-spectacular's PREPROCESSING_HOOKS. Otherwise, the document has the
    methods that a host's view does not offer.
    """
    views_by_path = defaultdict(set)
    for path, _, _, callback in endpoints:
        views_by_path[path].add(callback.cls)
    kept = []
    for endpoint in endpoints:
        path, _, _, callback = endpoint
        others = views_by_path[path] - {callback.cls}
        if not any(issubclass(other, callback.cls) for other in others):
            kept.append(endpoint)
    return kept


def exclude_api_views(endpoints: list[Endpoint]) -> list[Endpoint]:
    """Exclude all BaseAPIViews from an OpenAPI document.

    For drf-spectacular's PREPROCESSING_HOOKS.
    """
    # The last item of each tuple is the view.
    return [each for each in endpoints if not issubclass(each[-1].cls, BaseAPIView)]
