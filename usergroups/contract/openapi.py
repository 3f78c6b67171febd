"""The error responses and the headers of responses in the OpenAPI document."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from django.apps import apps
from drf_spectacular.utils import OpenApiExample, OpenApiParameter, extend_schema_field
from rest_framework import serializers
from rest_framework.exceptions import APIException

from .errors import Failure, failure

DESCRIPTIONS = {
    400: "The request is malformed, or a field is missing or invalid.",
    401: "The request has no valid token of the required scheme.",
    403: "The token does not permit the request.",
    404: "The object does not exist, or belongs to another owner.",
    405: "The path does not offer this method.",
    409: "The change would create a duplicate, or too much belongs to the object to delete it.",
    412: "The ETag of the object does not match If-Match.",
    413: "The body exceeds the size limit.",
    415: "The operation does not take a body with this Content-Type.",
    429: "Too many requests with this token, or too many failed authentications from this address.",
    500: "Internal error.",
    503: "The database is unreachable, overloaded or read-only, or the server cannot store a file.",
}

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
    """Return the codes of all errors that the validation of a field, with the fields in it, can report."""
    condition = {
        "required": field.required,
        "null": not field.allow_null,
        "blank": not getattr(field, "allow_blank", True),
        "empty": not getattr(field, "allow_empty", True),
        **dict.fromkeys(("max_length", "min_value", "max_value"), False),  # unless a validator has the code
    }
    codes = {code for code in field.error_messages if condition.get(code, True)}
    codes |= {validator.code for validator in field.validators if hasattr(validator, "code")}
    children = [*getattr(field, "fields", {}).values()]
    if hasattr(field, "child") and not getattr(field, "has_results", False):
        children.append(field.child)
    return codes.union(*map(validation_codes, children)) - UNREACHABLE_CODES


def component_name(module: str, name: str) -> str:
    """Return the name of a component of the OpenAPI document that is defined in this module."""
    app = apps.get_containing_app_config(module)
    return f"{class_name(app.label)}{name}" if app else name


def enum_field(name: str, *values: str | int) -> type[serializers.Field[Any, Any, Any, Any]]:
    """Return the class of a field for one of ``values``, for documentation only.

    The values are a component of their own. drf-spectacular's enum hook, which a host may use, would otherwise choose
    the name of the component, and warn if other fields of this name have other values.
    """
    kind = "integer" if isinstance(values[0], int) else "string"
    field = type("EnumField", (serializers.Field,), {})
    return extend_schema_field({"type": kind, "enum": [*values]}, f"Usergroups{name}")(field)


FailureTypeField = enum_field("FailureType", "validation_error", "client_error", "server_error")


class ProblemSerializer(serializers.Serializer[Any]):
    # The schema of an operation adds its codes. One enumeration of all of them has unique names in every language.
    code = enum_field("ErrorCode", "method_not_allowed", "not_found")()
    detail = serializers.CharField(help_text="An explanation for people; its wording may change.")
    attr = serializers.CharField(
        allow_null=True, help_text="The dotted path of the invalid field, or null if no single field is invalid."
    )


class FailureSerializer(serializers.Serializer[Any]):
    """The body of an error response."""

    success = enum_field("Failed", 0)()
    type = FailureTypeField()
    errors = ProblemSerializer(many=True)  # type: ignore[assignment]  # Serializer.errors is for input


def bodies_by_status(exceptions: Iterable[APIException]) -> dict[int, dict[str, Failure]]:
    """Return the bodies of the responses to these exceptions, by status and by the name of the example."""
    bodies: defaultdict[int, dict[str, Failure]] = defaultdict(dict)
    for exception in exceptions:
        body = failure(exception)
        problem = body["errors"][0]
        name = f"{problem['code']} at {problem['attr']}" if problem["attr"] else problem["code"]
        bodies[exception.status_code][name] = body
    return dict(sorted(bodies.items()))


def class_name(name: str) -> str:
    """Return the name of a class or component for a name with underscores or spaces."""
    return "".join(word[:1].upper() + word[1:] for word in re.split(r"\W|_", name))


IF_MATCH = OpenApiParameter(
    "If-Match",
    str,
    "header",
    description="An ETag. If the object has changed since, the request is refused with 412.",
    examples=[OpenApiExample("Any state", "*")],
)
ETAG = OpenApiParameter("ETag", str, "header", description="Changes with every change of the object.", response=True)

TEXT = {"type": "string"}
HEADERS: Mapping[str, Mapping[str, Any]] = {
    "Allow": {"schema": TEXT, "description": "The methods that the path offers."},
    "Cache-Control": {"schema": TEXT, "description": "Always `no-store`."},
    "Location": {
        "schema": {"type": "string", "format": "uri-reference"},
        "description": "The URL of the new object or, with 409, of the object in the way.",
    },
    "RateLimit": {"schema": TEXT, "description": "The remaining calls, and the seconds until the window ends."},
    "RateLimit-Policy": {"schema": TEXT, "description": "The calls allowed per window, and its length in seconds."},
    "Retry-After": {"schema": {"type": "integer"}, "description": "Seconds to wait before repeating the request."},
    "WWW-Authenticate": {"schema": TEXT, "description": "The required scheme."},
}
HEADERS_OF_STATUSES = {
    201: ["Location"],
    401: ["WWW-Authenticate"],
    405: ["Allow"],
    409: ["Location"],
    429: ["Retry-After"],
    503: ["Retry-After"],
}
NOT_COUNTED = {401, 405}
"""The statuses of responses to calls that are not counted, because the token is not known."""
