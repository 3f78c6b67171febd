"""Describe the operations of API views in OpenAPI.

``operation`` describes one operation. ``OperationSchema`` adds what operations
have in common, such as headers and errors with their codes, and makes it
components of the document.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import count
from typing import Any, TypeVar, cast

from django.apps import apps
from django.db.models import ProtectedError
from django.utils import translation
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.plumbing import ResolvedComponent, force_instance
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import (
    OpenApiExample,
    OpenApiParameter,
    OpenApiResponse,
    extend_schema,
)
from rest_framework import exceptions
from rest_framework.exceptions import APIException
from rest_framework.fields import empty
from rest_framework.permissions import SAFE_METHODS
from rest_framework.serializers import Serializer

from .conf import DEFAULT_MAX_BODY_SIZE
from .errors import (
    BadRequest,
    DatabaseUnavailable,
    InvalidToken,
    ServerError,
    WrongScheme,
    WrongTokenKind,
    failure,
)
from .fields import StrictIntegerField
from .pagination import KeysetPagination
from .parsers import PayloadTooLarge
from .requests import FIELD, PARAMETER, UnknownName
from .serializers import (
    ERROR_CODE,
    FailureSerializer,
    SerializerClass,
    open_enumeration,
)
from .views import BaseAPIView

# Examples of the errors that all operations can return. Without a language,
# DRF's details are in English, as in the responses.
with translation.override(None):
    COMMON_ERRORS: list[APIException] = [
        BadRequest(),
        exceptions.ParseError(
            "The query string is not UTF-8 or has too many parameters."
        ),
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


DESCRIPTIONS = {
    200: "The call succeeded.",
    201: "The object was created.",
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
COUNTED = [status for status in DESCRIPTIONS if status not in (401, 405)]

header = partial(OpenApiParameter, location="header", type=str)

COMMON_HEADERS = [
    header("Cache-Control", description="Always `no-store`.", response=True),
    header(
        "Location",
        type=OpenApiTypes.URI_REF,
        description="The URL of the new object or of its list.",
        response=[201],
    ),
    header("WWW-Authenticate", description="The required scheme.", response=[401]),
    header("Allow", description="The methods that the path offers.", response=[405]),
    header(
        "Retry-After",
        type=int,
        description="Seconds to wait before repeating the request.",
        response=[429, 503],
    ),
    header(
        "RateLimit",
        description="The remaining calls, and the seconds until the window ends.",
        response=COUNTED,
    ),
    header(
        "RateLimit-Policy",
        description="The calls allowed per window, and its length in seconds.",
        response=COUNTED,
    ),
]

LOCATION_OF_DUPLICATE = header(
    "Location",
    type=OpenApiTypes.URI_REF,
    description="The URL of the object in the way.",
    response=[409],
)

ETAG = header(
    "ETag",
    description="Changes with every change of the object.",
    response=SUCCESSFUL,
)

IF_MATCH = header(
    "If-Match",
    description=(
        "An ETag. If the object has changed since, the request is refused with 412."
    ),
    examples=[OpenApiExample("Any state", "*")],
)


Schema = dict[str, Any]
"""A part of an OpenAPI document, by the keys of the specification."""

Endpoint = tuple[str, str, str, Any]
"""An operation, as drf-spectacular passes it to hooks: its path, the regular
expression of the path, its method and its view.
"""


Handler = TypeVar("Handler", bound=Callable[..., object])


def operation(
    operation_id: str,
    summary: str,
    *,
    tags: list[str],
    description: str = "",
    parameters: Sequence[OpenApiParameter] = (),
    request: object = empty,
    **described: object,
) -> Callable[[Handler], Handler]:
    """Describe a method of a BaseAPIView.

    The arguments are those of drf-spectacular's ``extend_schema``, and
    attributes of OperationSchema.
    """
    # extend_schema extends the class that it finds at the method, or else the
    # host's DEFAULT_SCHEMA_CLASS.
    schema = type("DescribedOperation", (OperationSchema,), described)
    extend = extend_schema(
        operation_id,
        summary=summary,
        tags=tags,
        description=description or f"{summary}.",
        parameters=[*parameters],
        request=request,
    )

    def decorate(method: Handler) -> Handler:
        # The metrics have this id.
        vars(method).update(kwargs={"schema": schema}, operation_id=operation_id)
        return extend(method)

    return decorate


class OperationSchema(AutoSchema):
    """Describes a method that ``operation`` decorates.

    The names of components begin with the label of the app that defines them,
    so that they differ from the names in a host project.
    """

    view: BaseAPIView  # type: ignore[override]  # AutoSchema's is any APIView
    codes: set[str]
    """The codes of all errors of the operation."""
    statuses: Sequence[int] = [200]
    """The statuses of successful responses with the view's envelope."""
    files: Mapping[tuple[int, str], OpenApiResponse] = {}
    """Successful responses with files, by status and media type."""
    errors: Sequence[Exception] = ()
    """The exceptions of this operation, which the view answers, without those
    that other operations have too.
    """
    failure_serializer = FailureSerializer
    """The serializer of a response with the status 400."""

    @property
    def serializer(self) -> SerializerClass:
        """The serializer of the query or of the JSON body."""
        return self.view.request_serializers.get(self.method, Serializer)

    @property
    def has_body(self) -> bool:
        """Whether the request has a JSON body."""
        has_query = self.view.has_query(self.method)
        return self.method in self.view.request_serializers and not has_query

    def get_operation(self, *args: Any, **kwargs: Any) -> Schema | None:
        """Describe the operation, and make components of its parameters, its
        headers and its errors.
        """
        self.codes = set()
        described = super().get_operation(*args, **kwargs)
        if described is None:
            return None
        if "requestBody" in described:
            # That of a rotation may be empty, but clients that are generated for
            # an optional body take it in another way.
            described["requestBody"]["required"] = True
        parameters = described.get("parameters", [])
        for number, parameter in enumerate(parameters):
            self._simplify(parameter)
            name = parameter["name"]
            parameters[number] = self._shared("parameters", name, parameter)
        responses = described["responses"]
        for status, response in responses.items():
            headers = response["headers"]
            for name, described_header in headers.items():
                headers[name] = self._shared("headers", name, described_header)
            if int(status) >= 400:
                name = f"Error{status}"
                responses[status] = self._shared("responses", name, response)
        # one list of the codes of all operations
        component = self.registry["UsergroupsErrorCode", "schemas"]
        self.codes.update(component.schema["x-extensible-enum"])
        component.schema = open_enumeration(ERROR_CODE, sorted(self.codes))
        return described

    def _shared(self, kind: str, name: str, value: Schema) -> Schema:
        """Return a reference to a component of this kind with this value.

        Of several components with one name, all but the first have a number.
        """
        name = f"Api{class_name(name)}"
        for number in count(2):
            component = ResolvedComponent(name, kind, value, OperationSchema)  # type: ignore[no-untyped-call]
            self.registry.register_on_missing(component)
            if self.registry[component].schema == value:
                break
            name = f"{name.partition('_')[0]}_{number}"
        return component.ref

    def _simplify(self, parameter: Schema) -> None:
        """Describe the limits of the view's paginator, and remove what code
        generators cannot handle.
        """
        schema = parameter["schema"]
        paginator = self.view.paginator
        if parameter["name"] == "limit" and isinstance(paginator, KeysetPagination):
            maximum = paginator.max_limit
            schema["default"] = paginator.default_limit
            parameter["description"] = (
                "The maximum number of items on the page. Values over "
                f"{maximum} count as {maximum}."
            )
        if "enum" in schema:
            schema.pop("minLength", None)
            # Only drf-spectacular's enum hook needs this key.
            schema.pop("x-spec-enum-id", None)

    def _map_serializer(
        self, serializer: object, direction: str, bypass_extensions: bool = False
    ) -> Schema:
        """Describe the fields of a serializer, with the examples of its class."""
        schema: Schema = super()._map_serializer(  # type: ignore[no-untyped-call]
            serializer, direction, bypass_extensions
        )
        kind = type(force_instance(serializer))  # type: ignore[no-untyped-call]
        # A body may also have the fields of an answer about the same object.
        if direction == "request" and not hasattr(kind, "answer"):
            schema["additionalProperties"] = False
        examples = examples_of(kind)
        for name, described in schema.get("properties", {}).items():
            # In OpenAPI 3.0, a reference has nothing beside it.
            if name in examples and "$ref" not in described:
                described["example"] = examples[name]
        return schema

    def map_parsers(self) -> list[str]:
        # That of a NoBodyParser is empty.
        return [*filter(None, super().map_parsers())]

    def get_serializer_name(self, serializer: object, direction: object) -> str:
        return component_name(type(serializer))

    def get_override_parameters(self) -> list[Any]:
        """Return the common headers and the query parameters.
        ``extend_schema`` adds the other parameters of the operation.
        """
        if self.view.has_query(self.method):
            return [*COMMON_HEADERS, self.serializer]
        return COMMON_HEADERS

    def get_request_serializer(self) -> SerializerClass | None:
        return self.serializer if self.has_body else None

    def get_response_serializers(self) -> dict[object, OpenApiResponse]:  # type: ignore[override]
        responses: dict[Any, OpenApiResponse] = {**self.files}
        for status in self.statuses:
            envelope = self.view.get_envelope_class(self.method)
            responses[status] = OpenApiResponse(envelope, DESCRIPTIONS[status])
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
        safe_methods = [*SAFE_METHODS, *getattr(self.view, "safe_methods", ())]
        is_read = self.method in safe_methods
        for permission in self.view.get_permissions():
            if not is_read or getattr(permission, "applies_to_reads", True):
                message = getattr(permission, "message", None)
                code = getattr(permission, "code", None)
                errors.append(exceptions.PermissionDenied(message, code))
        if self.get_request_serializer():
            errors += ERRORS_OF_BODIES
        # The path contains an id.
        if "{" in self.path:
            errors.append(UNKNOWN_PATH)
        kind = FIELD if self.has_body else PARAMETER
        errors.append(UnknownName(["colour"], ["url"], kind))
        explained = map(self.view.explain, self.errors)
        return [*errors, *cast(Iterator[APIException], explained)]

    def _error_response(
        self, status: int, errors: list[APIException]
    ) -> OpenApiResponse:
        bodies = [failure(error) for error in errors]
        examples = [OpenApiExample(body["errors"][0]["code"], body) for body in bodies]
        codes = {problem["code"] for body in bodies for problem in body["errors"]}
        serializer = FailureSerializer
        if status == 400:
            codes |= self._codes_of_fields()
            serializer = self.failure_serializer
            # Few operations share this response, so it has one example.
            examples = examples[-1:]
        self.codes |= codes
        listed = ", ".join(f"`{code}`" for code in sorted(codes))
        # A host may answer with another status.
        meaning = DESCRIPTIONS.get(status, "The request is refused.")
        return OpenApiResponse(serializer, f"{meaning} Codes: {listed}.", examples)

    def _codes_of_fields(self) -> set[str]:
        """Return the codes of errors in the fields of the request."""
        serializer = self.serializer(partial=self.method == "PATCH")
        codes: set[str] = set()
        for field in serializer.fields.values():
            codes |= codes_of_field(field)
        if self.has_body:
            codes |= CODES_OF_BODIES
        elif codes:
            codes.add("repeated_parameter")
            # A query parameter is a text, or a list of texts.
            codes -= {"null", "not_a_list"}
        return {*codes, "unknown_parameter"}


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
    "too_many_values",
    "too_many_errors",
    "unknown_field",
    "null_characters_not_allowed",
    "surrogate_characters_not_allowed",
    "overflow",
}
"""The codes of errors that any JSON body may have."""


def codes_of_field(field: Any) -> set[str]:
    """Return the codes of all errors that the validation of a field, with the
    fields in it, can report.

    Those of the items of a BatchField are in results, not in an error response.
    """
    # The items of a list have no name, and are never missing.
    is_needed = field.required and field.field_name
    # A field has messages for codes that it never reports.
    is_possible = {
        "required": is_needed and not getattr(field.root, "partial", False),
        "null": not field.allow_null,
        "blank": not getattr(field, "allow_blank", True),
        "empty": not getattr(field, "allow_empty", True),
        # that of a number that is text
        "max_string_length": not isinstance(field, StrictIntegerField),
        # The limits that a field has are validators, which are added below.
        "max_length": False,
        "min_value": False,
        "max_value": False,
    }
    codes = {code for code in field.error_messages if is_possible.get(code, True)}
    for validator in field.validators:
        codes.add(getattr(validator, "code", "invalid"))
    children = list(getattr(field, "fields", {}).values())
    if hasattr(field, "child") and not hasattr(field, "has_results"):
        children.append(field.child)
    for child in children:
        codes |= codes_of_field(child)
    return codes - UNREACHABLE_CODES


def examples_of(serializer: SerializerClass) -> dict[str, object]:
    """Return examples of the values of fields: those in the attribute
    ``examples`` of the class, of its base classes, and of its ``answer``.
    """
    answer = getattr(serializer, "answer", None)
    examples = examples_of(answer) if answer else {}
    for base in reversed(serializer.__mro__):
        examples.update(vars(base).get("examples", {}))
    return examples


def class_name(name: str) -> str:
    """Return the name of a class or component for a name with underscores,
    hyphens or spaces.
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
    replaced = {
        (path, base)
        for path, _, _, callback in endpoints
        for base in callback.cls.__mro__[1:]
    }
    return [each for each in endpoints if (each[0], each[-1].cls) not in replaced]


def exclude_api_views(endpoints: list[Endpoint]) -> list[Endpoint]:
    """Exclude all BaseAPIViews from an OpenAPI document.

    For drf-spectacular's PREPROCESSING_HOOKS.
    """
    # The last item of each tuple is the view.
    return [each for each in endpoints if not issubclass(each[-1].cls, BaseAPIView)]
