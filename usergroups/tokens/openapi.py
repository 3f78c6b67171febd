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
from drf_spectacular.utils import OpenApiExample, OpenApiParameter, OpenApiRequest, OpenApiResponse, extend_schema
from rest_framework import exceptions, serializers
from rest_framework.exceptions import ErrorDetail
from rest_framework.permissions import SAFE_METHODS

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
    responses: Mapping[Any, OpenApiResponse]
    """The successful responses by status. The key of a file is its status and media type."""
    request: dict[str, Any] | None = None
    """An example of the body."""
    sent_file: Mapping[str, OpenApiRequest] | None = None
    """The body by media type, if it is a file."""
    query: Mapping[str, Any] = field(default_factory=dict)
    """An example of each query parameter."""
    failures: Sequence[exceptions.APIException] = ()
    """The errors that not every operation of this kind can return."""


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
            response["headers"] = {**response.get("headers", {}), **self._headers(int(status))}
        described["responses"] |= self._failure_responses(has_body="requestBody" in described)
        return described

    def get_serializer_name(self, serializer: Any, direction: Any) -> str:
        return contract.component_name(type(serializer).__module__, super().get_serializer_name(serializer, direction))

    def get_override_parameters(self) -> list[Any]:
        return [self._request_serializer] if self.view.has_query(self.method) else []

    def get_request_serializer(self) -> Any:
        if self._request_serializer is None or self.view.has_query(self.method):
            return self.documentation.sent_file
        examples = [OpenApiExample("Request", self.documentation.request)]
        return OpenApiRequest(self._request_serializer, examples=self._valid(examples, "request_serializers"))

    def get_response_serializers(self) -> dict[Any, OpenApiResponse]:  # type: ignore[override]
        serializer = self.view.response_serializers.get(self.method)
        return {
            key: OpenApiResponse(
                each.response or serializer, each.description, self._valid(each.examples, "response_serializers")
            )
            for key, each in self.documentation.responses.items()
        }

    @property
    def _request_serializer(self) -> type[serializers.Serializer[Any]] | None:
        return self.view.request_serializers.get(self.method)

    def _valid(self, examples: Sequence[OpenApiExample], table: str) -> list[OpenApiExample]:
        """Return the examples if they fit the view's serializer, and no examples otherwise.

        They do not fit if a subclass of the class that defines the method has replaced the serializer.
        """
        original = next(each for each in type(self.view).__mro__ if self.method.lower() in vars(each))
        is_replaced = getattr(self.view, table).get(self.method) is not getattr(original, table).get(self.method)
        return [] if is_replaced else [*examples]

    def _failure_responses(self, has_body: bool) -> dict[str, Any]:
        """Return the error responses. All operations share those that do not depend on the operation."""
        codes_of_fields, codes_of_items = self._codes()
        schema = self.resolve_serializer(contract.FailureSerializer, "response").ref
        responses, every_code = {}, {*codes_of_fields, *codes_of_items}
        for status, bodies in contract.bodies_by_status(self._failures(has_body)).items():
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
        names += contract.HEADERS_OF_STATUSES.get(status, [])
        if status not in contract.NOT_COUNTED:
            names += ["RateLimit", "RateLimit-Policy"]
        return {name: self._shared("headers", name.replace("-", ""), contract.HEADERS[name]) for name in names}

    def _shared(self, kind: str, name: str, content: Any) -> Any:
        """Return a reference to a component with this content, or the content if another one has the name."""
        component = ResolvedComponent(f"Usergroups{name}", kind, content, OperationSchema)  # type: ignore[no-untyped-call]
        self.registry.register_on_missing(component)
        return component.ref if self.registry[component].schema == content else content

    def _failures(self, has_body: bool) -> list[exceptions.APIException]:
        """Return the errors that the operation can return, with one example of an invalid field."""
        is_read = self.method in (*SAFE_METHODS, *getattr(self.view, "safe_methods", ()))
        denials = [
            exceptions.PermissionDenied(getattr(permission, "message", None), getattr(permission, "code", None))
            for permission in self.view.get_permissions()
            if not is_read or getattr(permission, "applies_to_reads", True)
        ]
        failures = [*FAILURES, *self.documentation.failures, *denials]
        if has_body:
            failures += FAILURES_OF_BODIES
        if "{" in self.path:
            failures.append(UNKNOWN_PATH)
        if contract.IF_MATCH in self.get_override_parameters():
            failures.append(PreconditionFailed())
        return failures

    def _codes(self) -> tuple[set[str], set[str]]:
        """Return the codes of all errors in the fields of the request, and of those in the items of a batch."""
        if self._request_serializer is None:
            return set(), set()
        fields = self._request_serializer().fields.values()
        items = [cast(Any, each).child for each in fields if getattr(each, "has_results", False)]
        codes = set[str]().union(*map(contract.validation_codes, fields))
        if any(isinstance(each, serializers.DictField) for each in fields):
            codes.add(TOO_MANY["code"])
        if self.method == "PATCH":
            codes.discard("required")
        if self.view.has_query(self.method):
            codes.discard("null")
        return codes, set[str]().union(*map(contract.validation_codes, items))


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
    *,
    operation_id: str,
    summary: str,
    tags: Sequence[str],
    description: str | None = None,
    parameters: Sequence[OpenApiParameter] = (),
    **documentation: Any,
) -> Callable[[F], F]:
    """Document a method of a view, including the errors that every operation of its kind can return.

    The other arguments are the attributes of ``Documentation``. This extends ``extend_schema`` and ignores the host's
    DEFAULT_SCHEMA_CLASS.
    """
    documented = Documentation(operation_id=operation_id, **documentation)
    document = extend_schema(
        operation_id, [*parameters], description=description or f"{summary}.", summary=summary, tags=tags
    )

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
