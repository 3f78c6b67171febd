"""The base class of all API views."""

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
    """Sets every DRF policy itself, so that the API does not depend on the host's REST_FRAMEWORK setting.

    A subclass sets ``authentication_classes``, ``permission_classes`` and ``throttle_classes``. Each throttle has a
    method ``headers()``, which returns headers for the response.
    """

    http_method_names = ["get", "head", "post", "put", "patch", "delete"]
    renderer_classes = [CompactJSONRenderer]
    parser_classes = [JSONObjectParser]
    content_negotiation_class = JSONNegotiation
    throttle_classes = []
    versioning_class = None
    metadata_class = None
    schema = AutoSchema()
    format_kwarg = None  # URLs have no format suffix
    throttles: list[Any] = []

    @classmethod
    def as_view(cls, **initkwargs: Any) -> Any:
        # Under ATOMIC_REQUESTS, Django would commit after the view has returned, and the exception handler could not
        # answer an error that the commit raises.
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
        """Check the method, the authentication, the rate limit and the permission, in this order.

        This replaces DRF's order, which checks the method last and counts only permitted requests.
        """
        if request.method not in self.allowed_methods:
            self.http_method_not_allowed(request)
        self.perform_authentication(request)
        if request.successful_authenticator is not None:
            self.check_throttles(request)
        self.check_permissions(request)

    def get_throttles(self) -> list[Any]:
        self.throttles = super().get_throttles()
        return self.throttles

    def finalize_response(self, request: Any, response: Any, *args: Any, **kwargs: Any) -> Response:
        for throttle in self.throttles:
            for name, value in throttle.headers().items():
                response[name] = value
        return super().finalize_response(request, response, *args, **kwargs)

    def get_exception_handler(self) -> Callable[[Exception, dict[str, Any]], Response]:
        return exception_handler

    def validated(
        self, serializer_class: type[Serializer[Any]], data: Any, partial: bool = False, **context: Any
    ) -> dict[str, Any]:
        """Return the validated data. Raises ValidationError."""
        serializer = serializer_class(data=data, partial=partial, context=context)
        serializer.is_valid(raise_exception=True)
        validated: dict[str, Any] = serializer.validated_data
        return validated
