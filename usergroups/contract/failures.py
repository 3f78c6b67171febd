"""The error responses in the OpenAPI document."""

from collections import defaultdict
from collections.abc import Iterable
from functools import cache
from http import HTTPStatus
from typing import Any

from django.apps import apps
from drf_spectacular.utils import OpenApiExample, OpenApiResponse, extend_schema_field
from rest_framework import serializers
from rest_framework.exceptions import APIException

from .errors import Failure, failure

DESCRIPTIONS = {
    400: "The request is malformed, or a field is missing or invalid.",
    401: "The request has no valid token of the required scheme.",
    403: "The token does not permit the request.",
    404: "The object does not exist, or belongs to another owner.",
    409: "The change would create a duplicate, or too much belongs to the object to delete it.",
    412: "The ETag of the object does not match If-Match.",
    413: "The body exceeds the size limit.",
    415: "The operation does not take a body with this Content-Type.",
    429: "Too many requests with this token, or too many failed authentications from this address.",
    500: "Internal error.",
    503: "The database is unreachable, overloaded or read-only, or the server cannot store a file.",
}

UNREACHABLE_CODES = {
    "lost_plus",  # reported as "invalid"
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
    return f"{_class_name(app.label)}{name}" if app else name


@cache
def enum_field(name: str, *values: str | int) -> type[serializers.Field[Any, Any, Any, Any]]:
    """Return the class of a field for one of ``values``, for documentation only.

    The values are a component of their own. drf-spectacular's enum hook, which a host may use, would otherwise choose
    the name of the component, and warn if other fields of this name have other values.
    """
    kind = "integer" if isinstance(values[0], int) else "string"
    field = type("EnumField", (serializers.Field,), {})
    return extend_schema_field({"type": kind, "enum": [*values]}, f"Usergroups{name}")(field)


class ProblemSerializer(serializers.Serializer[Any]):
    code = serializers.CharField(help_text="A stable code for programs.")
    detail = serializers.CharField(help_text="An explanation for people; its wording may change.")
    attr = serializers.CharField(
        allow_null=True, help_text="The dotted path of the invalid field, or null if no single field is invalid."
    )


class FailureSerializer(serializers.Serializer[Any]):
    success = enum_field("Failed", 0)()
    type = enum_field("FailureType", "validation_error", "client_error", "server_error")()
    errors = ProblemSerializer(many=True)  # type: ignore[assignment]  # Serializer.errors is for input


class FailedResultSerializer(FailureSerializer):
    """The result of an invalid item of a batch."""

    status = serializers.IntegerField(help_text="The status of the equivalent single request.")


def failure_responses(
    operation_id: str, exceptions: Iterable[APIException], codes_of_fields: set[str]
) -> dict[int, OpenApiResponse]:
    """Return a response for each status of the exceptions. ``codes_of_fields`` are further codes of status 400."""
    bodies: defaultdict[int, list[Failure]] = defaultdict(list)
    for exception in exceptions:
        bodies[exception.status_code].append(failure(exception))
    responses = {}
    for status, failures in sorted(bodies.items()):
        types = {body["type"] for body in failures}
        codes = {problem["code"] for body in failures for problem in body["errors"]}
        if status == 400 and codes_of_fields:
            types, codes = {*types, "validation_error"}, codes | codes_of_fields
        serializer = _failure_serializer(_name(operation_id, status, codes), frozenset(types), frozenset(codes))
        examples = [OpenApiExample(_example_name(body), body) for body in failures]
        responses[status] = OpenApiResponse(serializer, DESCRIPTIONS[status], examples)
    return responses


def _example_name(body: Failure) -> str:
    problem = body["errors"][0]
    return f"{problem['code']} at {problem['attr']}" if problem["attr"] else problem["code"]


@cache
def _failure_serializer(name: str, types: frozenset[str], codes: frozenset[str]) -> type[FailureSerializer]:
    """Return a FailureSerializer that documents only these values of ``type`` and ``code``.

    It is kept, because drf-spectacular wants one class for each name, and many operations have the same failures.
    """
    code, kind = enum_field(f"{name}Code", *sorted(codes)), enum_field(_type_name(types), *sorted(types))
    problem = type(f"{name}ProblemSerializer", (ProblemSerializer,), {"code": code(), "__module__": __name__})
    fields = {"type": kind(), "errors": problem(many=True)}
    return type(f"{name}FailureSerializer", (FailureSerializer,), {**fields, "__module__": __name__})


def _name(operation_id: str, status: int, codes: set[str]) -> str:
    """Return a name that no failure with other codes has."""
    if len(codes) == 1:
        return _class_name(*codes)
    phrase = HTTPStatus(status).phrase.replace(" ", "")
    return phrase if status == HTTPStatus.UNAUTHORIZED else _class_name(operation_id) + phrase


def _type_name(types: Iterable[str]) -> str:
    return "Or".join(map(_class_name, sorted(types))) + "Type"


def _class_name(name: str) -> str:
    return name.title().replace("_", "")
