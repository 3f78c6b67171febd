"""The view that every operation stands on."""

from collections.abc import Callable
from typing import Any

from django.db import connections, transaction
from django.http import HttpRequest
from drf_spectacular.openapi import AutoSchema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import Serializer
from rest_framework.views import APIView

from .errors import NO_STORE, exception_handler
from .negotiation import CompactJSONRenderer, JSONNegotiation
from .parsers import ContractRequest, JSONObjectParser


class ContractView(APIView):
    """Sets every policy that the contract rests on, so that nothing depends on the host's REST_FRAMEWORK.

    A subclass adds who may call, and how often: ``authentication_classes``, ``permission_classes`` and
    ``throttle_classes``, which have ``headers()`` for the answer.
    """

    http_method_names = ["get", "head", "post", "put", "patch", "delete"]
    renderer_classes = [CompactJSONRenderer]
    parser_classes = [JSONObjectParser]
    content_negotiation_class = JSONNegotiation
    throttle_classes = []
    versioning_class = None
    metadata_class = None
    schema = AutoSchema()

    @classmethod
    def as_view(cls, **initkwargs: Any) -> Any:
        # A conflict that only the commit reveals must be answered like any other. Under ATOMIC_REQUESTS
        # the commit would come after the view, where nothing of the contract can answer it.
        view = super().as_view(**initkwargs)
        for alias in connections:
            view = transaction.non_atomic_requests(alias)(view)
        return view

    @property
    def default_response_headers(self) -> dict[str, str]:
        return {**super().default_response_headers, **NO_STORE}

    def initialize_request(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Request:
        return ContractRequest(
            request,
            parsers=self.get_parsers(),
            authenticators=self.get_authenticators(),
            negotiator=self.get_content_negotiator(),
            parser_context=self.get_parser_context(request),
        )

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        if request.method not in self.allowed_methods:
            self.http_method_not_allowed(request)  # whoever asks: credentials would not help
        super().initial(request, *args, **kwargs)

    def check_permissions(self, request: Request) -> None:
        # What is refused is counted, too: DRF would throttle only who may.
        if request.successful_authenticator is not None:
            super().check_throttles(request)
        super().check_permissions(request)

    def check_throttles(self, request: Request) -> None:
        """Done before the permissions."""

    def get_throttles(self) -> list[Any]:
        self.throttles: list[Any] = super().get_throttles()
        return self.throttles

    def finalize_response(self, request: Any, response: Any, *args: Any, **kwargs: Any) -> Response:
        for throttle in getattr(self, "throttles", []):
            for name, value in throttle.headers().items():
                response[name] = value
        return super().finalize_response(request, response, *args, **kwargs)

    def get_exception_handler(self) -> Callable[[Exception, dict[str, Any]], Response]:
        return exception_handler

    def validated(
        self, serializer_class: type[Serializer[Any]], data: Any, partial: bool = False, **context: Any
    ) -> dict[str, Any]:
        """Return what the serializer makes of ``data``. Raises ValidationError."""
        serializer = serializer_class(data=data, partial=partial, context=context)
        serializer.is_valid(raise_exception=True)
        validated: dict[str, Any] = serializer.validated_data
        return validated
