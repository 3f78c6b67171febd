"""Document the operations of API views in OpenAPI."""

from collections.abc import Callable, Collection, Mapping, Sequence
from http import HTTPStatus
from typing import Any, ClassVar, TypeVar

from django.apps import apps
from django.utils import translation
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.plumbing import ResolvedComponent
from drf_spectacular.utils import (
    OpenApiExample,
    OpenApiParameter,
    OpenApiRequest,
    OpenApiResponse,
    extend_schema,
)
from rest_framework import exceptions, serializers
from rest_framework.permissions import SAFE_METHODS

from .bodies import PayloadTooLarge
from .conf import DEFAULT_MAX_BODY_SIZE
from .cursors import CREATED, LATEST, Cursor
from .error_serializers import FailureSerializer
from .errors import (
    TOO_MANY,
    BadRequest,
    DatabaseUnavailable,
    Failure,
    InvalidToken,
    ServerError,
    WrongScheme,
    WrongTokenKind,
    failure,
)
from .parsers import TooManyValuesInBody
from .preconditions import PreconditionFailed
from .requests import UnknownParameter
from .views import BaseAPIView

with translation.override(None):  # DRF's details in English, as the views do
    FAILURES: list[exceptions.APIException] = [  # of every operation
        BadRequest(),
        exceptions.ParseError(
            "The query string is not UTF-8 or has too many parameters."
        ),
        UnknownParameter(["update_since"], ["updated_since"]),
        exceptions.NotAuthenticated(),
        WrongScheme("This path takes another scheme."),
        InvalidToken(),
        WrongTokenKind("The token is of another kind."),
        exceptions.MethodNotAllowed("TRACE"),
        exceptions.Throttled(17),
        ServerError(),
        DatabaseUnavailable(),
    ]
    FAILURES_OF_BODIES = [
        PayloadTooLarge(DEFAULT_MAX_BODY_SIZE),
        exceptions.UnsupportedMediaType("text/plain"),
    ]
    UNKNOWN_PATH = exceptions.NotFound()


DESCRIPTIONS = {
    400: "The request is malformed, or a field is missing or invalid.",
    401: "The request has no valid token of the required scheme.",
    403: "The token does not permit the request.",
    404: "The object does not exist, or belongs to another owner.",
    405: "The path does not offer this method.",
    409: "The change would create a duplicate, or too much belongs to the object.",
    412: "The ETag of the object does not match If-Match.",
    413: "The body exceeds the size limit.",
    415: "The operation does not take a body with this Content-Type.",
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


# Calls with these two are refused before the rate limit counts them.
COUNTED = {*HTTPStatus} - {401, 405}


TEXT, NUMBER, URL = (
    {"type": "string"},
    {"type": "integer"},
    {"type": "string", "format": "uri-reference"},
)


HEADERS: Mapping[str, tuple[Collection[int], Mapping[str, str], str]] = {
    "Cache-Control": ({*HTTPStatus}, TEXT, "Always `no-store`."),
    "Location": (
        {201, 409},
        URL,
        (
            "The URL of the new object or of its list or, with 409, of the object in "
            "the way."
        ),
    ),
    "WWW-Authenticate": ({401}, TEXT, "The required scheme."),
    "Allow": ({405}, TEXT, "The methods that the path offers."),
    "Retry-After": (
        {429, 503},
        NUMBER,
        "Seconds to wait before repeating the request.",
    ),
    "RateLimit": (
        COUNTED,
        TEXT,
        "The remaining calls, and the seconds until the window ends.",
    ),
    "RateLimit-Policy": (
        COUNTED,
        TEXT,
        "The calls allowed per window, and its length in seconds.",
    ),
}
"""The headers of all operations: the statuses of the responses that have them,
the schema and a description.
"""


IF_MATCH = OpenApiParameter(
    "If-Match",
    str,
    "header",
    description=(
        "An ETag. If the object has changed since, the request is refused with 412."
    ),
    examples=[OpenApiExample("Any state", "*")],
)


ETAG = OpenApiParameter(
    "ETag",
    str,
    "header",
    description="Changes with every change of the object.",
    response=True,
)


UNREACHABLE_CODES = {
    "date",  # for values that do not come from a request
    "make_aware",
    "not_a_dict",  # ObjectField reports "not_an_object" instead
    "min_length",  # an empty value is reported as "blank" first
    "null_characters_not_allowed",  # refused by the parser
    "surrogate_characters_not_allowed",
}
"""Codes that the fields of DRF declare and a request cannot cause."""


def validation_codes(field: Any) -> set[str]:
    """Return the codes of all errors that the validation of a field, with the
    fields in it, can report.
    """
    is_possible = {
        "required": field.required and not getattr(field.root, "partial", False),
        "null": not field.allow_null,
        "blank": not getattr(field, "allow_blank", True),
        "empty": not getattr(field, "allow_empty", True),
        # unless a validator has the code
        **dict.fromkeys(("max_length", "min_value", "max_value"), False),
    }
    codes = {code for code in field.error_messages if is_possible.get(code, True)}
    codes |= {
        validator.code for validator in field.validators if hasattr(validator, "code")
    }
    children = [*getattr(field, "fields", {}).values()]
    if hasattr(field, "child") and not getattr(field, "has_results", False):
        children.append(field.child)
    return codes.union(*map(validation_codes, children)) - UNREACHABLE_CODES


def class_name(name: str) -> str:
    """Return the name of a class or component for a name with underscores or
    spaces.
    """
    return "".join(filter(str.isalnum, name.title()))


def component_name(described: type[Any]) -> str:
    """Return the name of the component that describes a class in the OpenAPI
    document.
    """
    app = apps.get_containing_app_config(described.__module__)
    return f"{class_name(app.label) if app else ''}{described.__name__}"


class OperationSchema(AutoSchema):
    """Describe a method of a BaseAPIView, with the view's serializers.

    ``operation`` creates a subclass for each.

    The names of components begin with the label of the app that defines them,
    so that they differ from the names in a host project.
    """

    view: BaseAPIView  # type: ignore[override]  # AutoSchema's is any APIView
    operation_id: str
    parameters: Sequence[OpenApiParameter] = ()
    """The parameters in the path and the headers, and the headers that only
    some successful responses have.
    """
    query: ClassVar[Mapping[str, Any]] = {}
    """An example of each query parameter."""
    request: Any = None
    """An example of the body."""
    sent_file: Mapping[str, OpenApiRequest] | None = None
    """The body by media type, if it is a file."""
    responses: Mapping[Any, OpenApiResponse]
    """The successful responses by status, or by status and media type if they
    are files.
    """
    failures: Sequence[exceptions.APIException] = ()
    """The errors of this operation, apart from those that ``_failures`` adds
    for every operation of its kind.
    """

    def get_operation(self, *args: Any, **kwargs: Any) -> Any:
        described = super().get_operation(*args, **kwargs)
        if not described:
            return described
        if "requestBody" in described:
            described["requestBody"]["required"] = True
        for parameter in described.get("parameters", []):
            if "enum" in parameter["schema"]:
                # Code generators cannot handle both.
                parameter["schema"].pop("minLength", None)
                # It is for drf-spectacular's hook only.
                parameter["schema"].pop("x-spec-enum-id", None)
            if parameter["name"] in self.query:
                parameter["example"] = self.query[parameter["name"]]
        for status, response in described["responses"].items():
            response["headers"] = {
                **response.get("headers", {}),
                **self._headers(int(status)),
            }
        described["responses"] |= self._failure_responses()
        return described

    def get_serializer_name(self, serializer: Any, direction: Any) -> str:
        return component_name(type(serializer))

    def get_override_parameters(self) -> list[Any]:
        query = (
            [self.view.request_serializers[self.method]]
            if self.view.has_query(self.method)
            else []
        )
        return [*self.parameters, *query]

    def get_request_serializer(self) -> Any:
        serializer = self.view.request_serializers.get(self.method)
        if serializer is None or self.view.has_query(self.method):
            return self.sent_file
        examples = self._valid_examples(
            [OpenApiExample("Request", self.request)], "request_serializers"
        )
        return OpenApiRequest(serializer, examples=examples)

    def get_response_serializers(self) -> dict[Any, OpenApiResponse]:  # type: ignore[override]
        responses = {}
        for key, response in self.responses.items():
            serializer = (
                response.response or self.view.response_serializers[self.method]
            )
            examples = self._valid_examples(response.examples, "response_serializers")
            responses[key] = OpenApiResponse(serializer, response.description, examples)
        return responses

    def _valid_examples(
        self, examples: Sequence[OpenApiExample], mapping: str
    ) -> list[OpenApiExample]:
        """Return the examples, or none if a host's subclass has replaced the
        serializer that they were written for.
        """
        original = next(
            each
            for each in type(self.view).__mro__
            if self.method.lower() in vars(each)
        )
        is_replaced = getattr(self.view, mapping).get(self.method) is not getattr(
            original, mapping
        ).get(self.method)
        return [] if is_replaced else [*examples]

    def _failure_responses(self) -> dict[str, Any]:
        """Return the error responses, and add their codes to the enumeration.

        Those without field errors are shared.
        """
        codes_of_fields, every_code = self._codes()
        schema = self.resolve_serializer(FailureSerializer, "response").ref
        responses, failures = {}, self._failures()
        for status in sorted({each.status_code for each in failures}):
            bodies = [failure(each) for each in failures if each.status_code == status]
            codes = {problem["code"] for body in bodies for problem in body["errors"]}
            codes |= codes_of_fields if status == 400 else set()
            listed = ", ".join(f"`{code}`" for code in sorted(codes))
            response = {
                "description": f"{DESCRIPTIONS[status]} Codes: {listed}.",
                "headers": self._headers(status),
                "content": {
                    "application/json": {
                        "schema": schema,
                        "examples": dict(map(self._example, bodies)),
                    }
                },
            }
            if status != 400 or not codes_of_fields:
                # The name of the component consists of its codes, or with more
                # than two, of the status phrase.
                name = (
                    " or ".join(sorted(codes))
                    if len(codes) <= 2
                    else HTTPStatus(status).phrase
                )
                response = self._shared("responses", class_name(name), response)
            responses[str(status)] = response
            every_code |= codes
        component = self.registry["UsergroupsErrorCode", "schemas"]
        component.schema = {
            **component.schema,
            "enum": sorted({*component.schema["enum"], *every_code}),
        }
        return responses

    def _failures(self) -> list[exceptions.APIException]:
        """Return the errors that the operation can return.

        Those of invalid fields are examples only.
        """
        is_read = self.method in (
            *SAFE_METHODS,
            *getattr(self.view, "safe_methods", ()),
        )
        denials = [
            exceptions.PermissionDenied(
                getattr(permission, "message", None), getattr(permission, "code", None)
            )
            for permission in self.view.get_permissions()
            if not is_read or getattr(permission, "applies_to_reads", True)
        ]
        failures = [*FAILURES, *self.failures, *denials]
        if self.get_request_serializer():
            failures += FAILURES_OF_BODIES
            if self.sent_file is None:
                failures.append(TooManyValuesInBody())
        if "{" in self.path:
            failures.append(UNKNOWN_PATH)  # if the id contains a slash
        if IF_MATCH in self.parameters:
            failures.append(PreconditionFailed())
        return failures

    def _codes(self) -> tuple[set[str], set[str]]:
        """Return the codes of errors in the fields of the request, without and
        with those in the items of a batch.
        """
        serializer = self.view.request_serializers.get(
            self.method, serializers.Serializer
        )
        fields: Collection[Any] = serializer(
            partial=self.method == "PATCH"
        ).fields.values()
        items = [each.child for each in fields if getattr(each, "has_results", False)]
        codes = set[str]().union(*map(validation_codes, fields))
        if any(isinstance(each, serializers.DictField) for each in fields):
            # Only the keys of an object can have so many errors.
            codes.add(TOO_MANY["code"])
        if self.view.has_query(self.method):
            codes.discard("null")  # A query parameter is never null.
        return codes, codes.union(*map(validation_codes, items))

    def _example(self, body: Failure) -> tuple[str, Any]:
        """Return the name of an example of an error response, and the example."""
        problem = body["errors"][0]
        name = class_name(
            f"{problem['code']} at {problem['attr']}"
            if problem["attr"]
            else problem["code"]
        )
        return name, self._shared("examples", name, {"value": body})

    def _headers(self, status: int) -> dict[str, Any]:
        """Return the headers of the responses with this status."""
        return {
            name: self._shared(
                "headers",
                name.replace("-", ""),
                {"schema": schema, "description": description},
            )
            for name, (statuses, schema, description) in HEADERS.items()
            if status in statuses
        }

    def _shared(self, kind: str, name: str, content: Any) -> Any:
        """Return a reference to a component with this content, or the content
        if another one has the name.
        """
        component = ResolvedComponent(
            f"Usergroups{name}", kind, content, OperationSchema
        )  # type: ignore[no-untyped-call]
        self.registry.register_on_missing(component)
        return component.ref if self.registry[component].schema == content else content


F = TypeVar("F", bound=Callable[..., Any])


def missing(field: str) -> exceptions.ValidationError:
    """Return the error that a required field is missing."""
    return exceptions.ValidationError(
        {field: [exceptions.ErrorDetail("This field is required.", "required")]}
    )


def exclude_api_views(
    endpoints: list[tuple[str, str, str, Any]],
) -> list[tuple[str, str, str, Any]]:
    """Exclude all BaseAPIViews from an OpenAPI document.

    For drf-spectacular's PREPROCESSING_HOOKS.
    """
    # [3] is the view.
    return [
        endpoint
        for endpoint in endpoints
        if not issubclass(endpoint[3].cls, BaseAPIView)
    ]


def id_parameter(description: str, example: str) -> OpenApiParameter:
    """Document the id in the path."""
    return OpenApiParameter(
        "id",
        str,
        "path",
        description=description,
        examples=[OpenApiExample("Id", example)],
    )


def page_query(key: Any, time_field: str = CREATED) -> dict[str, Any]:
    """Return an example of the query parameters of a list.

    The cursor has this key, and is before all objects.
    """
    cursor = Cursor(LATEST, key, False, time_field=time_field)
    return {"cursor": cursor.encode(), "limit": 50, "order": "newest"}


def success_response(description: str, **example: Any) -> OpenApiResponse:
    """Document a successful response, with an example of the envelope's
    fields.
    """
    return OpenApiResponse(
        description=description,
        examples=[OpenApiExample("Success", {"success": 1, **example})],
    )


def operation(
    *,
    operation_id: str,
    summary: str,
    tags: Sequence[str],
    description: str | None = None,
    **attributes: Any,
) -> Callable[[F], F]:
    """Document a method of a view, including the errors that every operation
    of its kind can return.

    The other arguments are attributes of OperationSchema. This extends
    ``extend_schema`` and ignores the host's DEFAULT_SCHEMA_CLASS.
    """
    if unknown := attributes.keys() - OperationSchema.__annotations__.keys():
        raise TypeError(f"OperationSchema has no {', '.join(unknown)}.")
    schema = type(
        "DocumentedSchema",
        (OperationSchema,),
        {"operation_id": operation_id, **attributes},
    )
    document = extend_schema(
        operation_id,
        summary=summary,
        tags=tags,
        description=description or f"{summary}.",
    )

    def decorate(method: F) -> F:
        # extend_schema looks here first
        method.kwargs = {"schema": schema}  # type: ignore[attr-defined]
        return document(method)

    return decorate


def operation_id(view: type[Any], method: str) -> str | None:
    """Return the ID of the operation that a method of a view is documented
    with, or None if there is none.
    """
    handler = getattr(view, "get" if method == "HEAD" else method.lower(), None)
    return getattr(getattr(handler, "kwargs", {}).get("schema"), "operation_id", None)
