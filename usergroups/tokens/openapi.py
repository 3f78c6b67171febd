"""Document the operations of a TokenView in the OpenAPI document.

Importing this module registers the authentication schemes.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any, TypeVar, cast

from django.utils import translation
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.plumbing import ResolvedComponent
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiExample, OpenApiParameter, OpenApiRequest, OpenApiResponse, extend_schema
from rest_framework import exceptions, serializers
from rest_framework.exceptions import ErrorDetail

from usergroups.contract import openapi as contract
from usergroups.contract.conf import DEFAULT_MAX_BODY_SIZE
from usergroups.contract.errors import TOO_MANY, BadRequest, DatabaseUnavailable, ServerError
from usergroups.contract.pagination import Cursor
from usergroups.contract.requests import PayloadTooLarge, PreconditionFailed, UnknownParameter

from .views import TokenView

with translation.override(None):  # DRF's details in English, as the views do
    FAILURES: list[exceptions.APIException] = [
        BadRequest(),
        exceptions.ParseError("The query string is not UTF-8 or has too many parameters."),
        UnknownParameter(["update_since"], ["updated_since"]),
        exceptions.NotAuthenticated(),
        exceptions.NotAuthenticated("This path takes another scheme.", code="wrong_scheme"),
        exceptions.AuthenticationFailed("The token is unknown, expired or revoked."),
        exceptions.AuthenticationFailed("The token is of another kind.", code="wrong_token_kind"),
        exceptions.MethodNotAllowed("TRACE"),
        exceptions.Throttled(17),
        ServerError(),
        DatabaseUnavailable(),
    ]
    FAILURES_OF_BODIES: list[exceptions.APIException] = [
        PayloadTooLarge(DEFAULT_MAX_BODY_SIZE),
        exceptions.UnsupportedMediaType("text/plain"),
    ]
    UNKNOWN_PATH = exceptions.NotFound()

MAX_CODES_IN_NAME = 2  # of a response


@dataclass(frozen=True, kw_only=True)
class Documentation:
    """What the OpenAPI document says about a method of a view. The serializers are attributes of the view."""

    operation_id: str
    responses: dict[int, OpenApiResponse]
    request: dict[str, Any] | None = None
    """An example of the body."""
    query: Mapping[str, Any] = field(default_factory=dict)
    """An example of each query parameter."""
    path: OpenApiParameter | None = None
    failures: Sequence[exceptions.APIException] = ()
    """The errors that not every operation of this kind can return."""
    read_only: bool = False
    tagged: bool = False
    """Whether the responses have an ETag."""
    conditional: bool = False
    """Whether the operation honors If-Match."""
    sent_file: Mapping[str, str] = field(default_factory=dict)
    """An example for each media type of the body, if that is a file."""
    returned_file: Mapping[str, str] = field(default_factory=dict)
    """An example for each media type of the successful response, if that is a file."""


class OperationSchema(AutoSchema):
    """Describe a method of a TokenView, with the view's serializers.

    The names of components begin with the label of the app that defines them, so that they differ from the names in a
    host project.
    """

    documentation: Documentation
    view: TokenView  # type: ignore[override]  # AutoSchema's is any APIView

    def get_operation(self, *args: Any, **kwargs: Any) -> Any:
        described = super().get_operation(*args, **kwargs)
        if not described:
            return described
        if "requestBody" in described:
            described["requestBody"]["required"] = True
        for parameter in described.get("parameters", []):
            if "enum" in parameter["schema"]:
                parameter["schema"].pop("minLength", None)  # Generators of code do not know what to do with both.
                parameter["schema"].pop("x-spec-enum-id", None)  # It is for drf-spectacular's hook only.
            if parameter["name"] in self.documentation.query:
                parameter["example"] = self.documentation.query[parameter["name"]]
        for status, response in described["responses"].items():
            response["headers"] = self._headers(int(status))
        described["responses"] |= self._failure_responses()
        return described

    def get_serializer_name(self, serializer: Any, direction: Any) -> str:
        return contract.component_name(type(serializer).__module__, super().get_serializer_name(serializer, direction))

    def get_override_parameters(self) -> list[Any]:
        query = self._request_serializer if self.view.has_query(self.method) else None
        if_match = contract.IF_MATCH if self.documentation.conditional else None
        return [parameter for parameter in (self.documentation.path, query, if_match) if parameter]

    def get_request_serializer(self) -> Any:
        if self.documentation.sent_file:
            return {
                media_type: OpenApiRequest(OpenApiTypes.BINARY, examples=[OpenApiExample("File", text)])
                for media_type, text in self.documentation.sent_file.items()
            }
        if self._request_serializer is None or self.view.has_query(self.method):
            return None
        examples = [OpenApiExample("Request", self.documentation.request)]
        return OpenApiRequest(self._request_serializer, examples=self._valid(examples, "request_serializers"))

    def get_response_serializers(self) -> dict[Any, OpenApiResponse]:  # type: ignore[override]
        succeeded: dict[Any, OpenApiResponse] = {}
        for status, response in self.documentation.responses.items():
            for media_type, text in self.documentation.returned_file.items():
                example = OpenApiExample("File", text, media_type=media_type)
                succeeded[status, media_type] = OpenApiResponse(OpenApiTypes.STR, response.description, [example])
            if not self.documentation.returned_file:
                serializer = self.view.response_serializers[self.method]
                examples = self._valid(response.examples, "response_serializers")
                succeeded[status] = OpenApiResponse(serializer, response.description, examples)
        return succeeded

    @property
    def _request_serializer(self) -> type[serializers.Serializer[Any]] | None:
        return self.view.request_serializers.get(self.method)

    def _valid(self, examples: Sequence[OpenApiExample], table: str) -> list[OpenApiExample]:
        """Return the examples if they fit the view's serializer, and no examples otherwise.

        They do not fit if a subclass of the class that defines the method has replaced the serializer.
        """
        original = next(each for each in type(self.view).__mro__ if self.method.lower() in vars(each))
        is_replaced = getattr(self.view, table)[self.method] is not getattr(original, table)[self.method]
        return [] if is_replaced else [*examples]

    def _failure_responses(self) -> dict[str, Any]:
        """Return the error responses. All operations share those that do not depend on the operation."""
        failures, codes_of_fields, codes_of_items = self._failures()
        schema = self.resolve_serializer(contract.FailureSerializer, "response").ref
        responses, every_code = {}, {*codes_of_fields, *codes_of_items}
        for status, bodies in contract.bodies_by_status(failures).items():
            codes = {problem["code"] for body in bodies.values() for problem in body["errors"]}
            codes |= codes_of_fields if status == 400 else set()
            every_code |= codes
            examples = {
                contract.class_name(name): self._shared("examples", contract.class_name(name), {"value": body})
                for name, body in bodies.items()
            }
            listed = ", ".join(f"`{code}`" for code in sorted(codes))
            response = {
                "description": f"{contract.DESCRIPTIONS[status]} Codes: {listed}.",
                "headers": self._headers(status),
                "content": {"application/json": {"schema": schema, "examples": examples}},
            }
            if status == 400 and codes_of_fields:
                responses["400"] = response
            else:
                name = " or ".join(sorted(codes)) if len(codes) <= MAX_CODES_IN_NAME else HTTPStatus(status).phrase
                responses[str(status)] = self._shared("responses", contract.class_name(name), response)
        component = self.registry["UsergroupsErrorCode", "schemas"]
        component.schema = {**component.schema, "enum": sorted({*component.schema["enum"], *every_code})}
        return responses

    def _headers(self, status: int) -> dict[str, Any]:
        """Return the headers of the responses with this status."""
        names = ["Cache-Control"]
        if status < 400 and self.documentation.tagged:
            names.append("ETag")
        if status < 400 and self.documentation.returned_file:
            names.append("Content-Disposition")
        names += contract.HEADERS_OF_STATUSES.get(status, [])
        if status not in contract.NOT_COUNTED:
            names += ["RateLimit", "RateLimit-Policy"]
        return {name: self._shared("headers", name.replace("-", ""), contract.HEADERS[name]) for name in names}

    def _shared(self, kind: str, name: str, content: Any) -> Any:
        """Return a reference to a component with this content, or the content if another one has the name."""
        component = ResolvedComponent(f"Usergroups{name}", kind, content, OperationSchema)  # type: ignore[no-untyped-call]
        self.registry.register_on_missing(component)
        return component.ref if self.registry[component].schema == content else content

    def _failures(self) -> tuple[list[exceptions.APIException], set[str], set[str]]:
        """Return the errors that the operation can return, and the codes of its fields and of a batch's items."""
        denials = [
            exceptions.PermissionDenied(getattr(permission, "message", None), getattr(permission, "code", None))
            for permission in self.view.get_permissions()
            if not self.documentation.read_only or getattr(permission, "applies_to_reads", True)
        ]
        failures = [*FAILURES, *self.documentation.failures, *denials]
        if self.documentation.path:
            failures.append(UNKNOWN_PATH)
        if self.documentation.conditional:
            failures.append(PreconditionFailed())
        if self._request_serializer is None:
            return failures, set(), set()
        fields = self._request_serializer().fields.values()
        codes = set[str]().union(*map(contract.validation_codes, fields))
        if self.view.has_query(self.method):
            of_body = FAILURES_OF_BODIES if self.documentation.sent_file else []
            return [*failures, *of_body], codes - {"null"}, set()
        items = [cast(Any, each).child for each in fields if getattr(each, "has_results", False)]
        codes_of_items = set[str]().union(*map(contract.validation_codes, items))
        if any(isinstance(each, serializers.DictField) for each in fields):
            codes.add(TOO_MANY["code"])
        if self.method == "PATCH":
            codes.discard("required")
        return failures + FAILURES_OF_BODIES, codes, codes_of_items


F = TypeVar("F", bound=Callable[..., Any])

INVALID_LIMIT = exceptions.ValidationError({"limit": [ErrorDetail("A valid integer is required.", "invalid")]})


def missing(field: str) -> exceptions.ValidationError:
    """Return the error that a required field is missing."""
    return exceptions.ValidationError({field: [ErrorDetail("This field is required.", "required")]})


def exclude_contract_views(endpoints: list[tuple[str, str, str, Any]]) -> list[tuple[str, str, str, Any]]:
    """Exclude all TokenViews from an OpenAPI document. For drf-spectacular's PREPROCESSING_HOOKS."""
    return [endpoint for endpoint in endpoints if not issubclass(endpoint[3].cls, TokenView)]


def id_parameter(description: str, example: str) -> OpenApiParameter:
    """Document the id in the path."""
    return OpenApiParameter("id", str, "path", description=description, examples=[OpenApiExample("Id", example)])


def page_query(key: Any) -> dict[str, Any]:
    """Return an example of the query parameters of a list. The cursor is before all objects."""
    return {"cursor": Cursor(datetime(9999, 12, 31, tzinfo=UTC), key, False).encode(), "limit": 50, "order": "newest"}


def success_response(description: str, **example: Any) -> OpenApiResponse:
    """Document a successful response, with an example of the envelope's fields."""
    return OpenApiResponse(description=description, examples=[OpenApiExample("Success", {"success": 1, **example})])


def operation(
    *, summary: str, tags: Sequence[str], description: str | None = None, **documentation: Any
) -> Callable[[F], F]:
    """Document a method of a view, including the errors that every operation of its kind can return.

    The other arguments are the attributes of ``Documentation``. This extends ``extend_schema`` and ignores the host's
    DEFAULT_SCHEMA_CLASS.
    """
    documented = Documentation(**documentation)
    text = description or f"{summary}."
    document = extend_schema(operation_id=documented.operation_id, summary=summary, tags=tags, description=text)

    def decorate(method: F) -> F:
        schema = type("OperationSchema", (OperationSchema,), {"documentation": documented})
        method.kwargs = {"schema": schema}  # type: ignore[attr-defined]  # extend_schema looks here first
        return document(method)

    return decorate


def operation_id(view: type[Any], method: str) -> str | None:
    """Return the ID of the operation that a method of a view is documented with, or None if there is none."""
    handler = getattr(view, "get" if method == "HEAD" else method.lower(), None)
    documentation = getattr(getattr(handler, "kwargs", {}).get("schema"), "documentation", None)
    return documentation.operation_id if isinstance(documentation, Documentation) else None


class TokenScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """Describes each subclass of TokenAuthentication.

    Clients and generators know the http scheme ``bearer``. They do not know ``Token``, so the client
    provides the whole value of the header.
    """

    target_class = "usergroups.tokens.authentication.TokenAuthentication"
    match_subclasses = True

    @property
    def name(self) -> str:  # type: ignore[override]
        model = self.target.model
        return contract.component_name(model.__module__, model.__name__)

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        secret = f"{self.target.model.prefix}_..."
        if self.target.keyword == "Bearer":
            return {"type": "http", "scheme": "bearer", "description": f"`Authorization: Bearer {secret}`"}
        return {
            "type": "apiKey",
            "in": "header",
            "name": "Authorization",
            "description": (
                f"Send the word `{self.target.keyword}`, a space and the token: "
                f"`Authorization: {self.target.keyword} {secret}`"
            ),
        }
