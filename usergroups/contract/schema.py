"""Generate the part of the OpenAPI document that describes a TokenView."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from django.utils import translation
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiExample, OpenApiParameter, OpenApiRequest, OpenApiResponse
from rest_framework import serializers
from rest_framework.exceptions import (
    APIException,
    AuthenticationFailed,
    NotAuthenticated,
    ParseError,
    PermissionDenied,
    Throttled,
    UnsupportedMediaType,
)

from usergroups.tokens.views import TokenView

from .body import PayloadTooLarge
from .conf import DEFAULT_MAX_BODY_SIZE
from .errors import TOO_MANY, BadRequest, DatabaseUnavailable, ServerError
from .etags import PreconditionFailed
from .failures import component_name, failure_responses, validation_codes
from .files import StorageUnavailable
from .headers import IF_MATCH, response_headers

with translation.override(None):  # DRF's details in English, as the views do
    FAILURES: list[APIException] = [
        BadRequest(),
        NotAuthenticated(),
        NotAuthenticated("This path takes another scheme.", code="wrong_scheme"),
        AuthenticationFailed("The token is unknown, expired or revoked."),
        AuthenticationFailed("The token is of another kind.", code="wrong_token_kind"),
        Throttled(17),
        ServerError(),
        DatabaseUnavailable(),
    ]
    FAILURES_OF_BODIES: list[APIException] = [
        ParseError("The body is not a JSON object."),
        PayloadTooLarge(DEFAULT_MAX_BODY_SIZE),
        UnsupportedMediaType("text/plain"),
    ]
FAILURES_OF_FILES: list[APIException] = [
    ParseError("The body is shorter than its Content-Length."),
    PayloadTooLarge(8 * 1024 * 1024),
    UnsupportedMediaType("text/plain"),
]
INVALID_QUERY = ParseError("The query string is not UTF-8 or has too many parameters.")


@dataclass(frozen=True)
class Documentation:
    """The arguments of ``operation`` for a method of a view. The serializers are attributes of the view."""

    operation_id: str
    responses: dict[int, OpenApiResponse]
    request: dict[str, Any] | None
    path: OpenApiParameter | None
    failures: Sequence[APIException]
    read_only: bool
    tagged: bool
    conditional: bool
    sent_file: Mapping[str, str]
    returned_file: Mapping[str, str]


class ContractSchema(AutoSchema):
    """Describe a method of a TokenView, with the view's serializers.

    The names of components begin with the label of the app that defines them, so that they differ from the names in a
    host project.
    """

    documentation: Documentation

    def get_operation(self, *args: Any, **kwargs: Any) -> Any:
        described = super().get_operation(*args, **kwargs)
        if described and "requestBody" in described:
            described["requestBody"]["required"] = True
        return described

    def get_description(self) -> str:  # type: ignore[override]  # as in AutoSchema
        return f"{self.get_summary()}."

    def get_serializer_name(self, serializer: Any, direction: Any) -> str:
        return component_name(type(serializer).__module__, super().get_serializer_name(serializer, direction))

    def get_override_parameters(self) -> list[Any]:
        operation = self.documentation
        query = self._request_serializer if self._has_query else None
        return [
            *(parameter for parameter in (operation.path, query) if parameter),
            *([IF_MATCH] if operation.conditional else []),
            *response_headers(self.get_response_serializers(), operation.tagged, bool(operation.returned_file)),
        ]

    def get_request_serializer(self) -> Any:
        if self.documentation.sent_file:
            return {
                media_type: OpenApiRequest(OpenApiTypes.BINARY, examples=[OpenApiExample("File", text)])
                for media_type, text in self.documentation.sent_file.items()
            }
        if self._request_serializer is None or self._has_query:
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
                serializer = self.contract_view.response_serializers[self.method]
                examples = self._valid(response.examples, "response_serializers")
                succeeded[status] = OpenApiResponse(serializer, response.description, examples)
        failures, codes = self._failures()
        return {**succeeded, **failure_responses(self.documentation.operation_id, failures, codes)}

    @property
    def _has_query(self) -> bool:
        return self.method in self.contract_view.methods_with_query

    @property
    def contract_view(self) -> TokenView:
        return cast(TokenView, self.view)

    @property
    def _request_serializer(self) -> type[serializers.Serializer[Any]] | None:
        return self.contract_view.request_serializers.get(self.method)

    def _valid(self, examples: Sequence[OpenApiExample], table: str) -> list[OpenApiExample]:
        """Return the examples if they fit the view's serializer, and no examples otherwise.

        They do not fit if a subclass of the class that defines the method has replaced the serializer.
        """
        view = type(self.contract_view)
        original = next(each for each in view.__mro__ if self.method.lower() in vars(each))
        is_replaced = getattr(view, table)[self.method] is not getattr(original, table)[self.method]
        return [] if is_replaced else [*examples]

    def _failures(self) -> tuple[list[APIException], set[str]]:
        """Return the errors that the operation can return, and the codes of its fields."""
        denials = [
            PermissionDenied(getattr(permission, "message", None), getattr(permission, "code", None))
            for permission in self.contract_view.permission_classes
            if not self.documentation.read_only or getattr(permission, "applies_to_reads", True)
        ]
        failures = [*FAILURES, *self.documentation.failures, *denials]
        if self.documentation.conditional:
            failures.append(PreconditionFailed())
        if self.documentation.sent_file or self.documentation.returned_file:
            failures.append(StorageUnavailable())
        if self._request_serializer is None:
            return failures, set()
        fields = self._request_serializer().fields.values()
        codes = set[str]().union(*map(validation_codes, fields))
        if self._has_query:
            of_body = FAILURES_OF_FILES if self.documentation.sent_file else []
            return [*failures, INVALID_QUERY, *of_body], codes - {"null"}
        if any(isinstance(field, serializers.DictField) for field in fields):
            codes.add(TOO_MANY["code"])
        return failures + FAILURES_OF_BODIES, codes - ({"required"} if self.method == "PATCH" else set())
