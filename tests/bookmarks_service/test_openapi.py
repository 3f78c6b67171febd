"""The OpenAPI document has all operations, and the answers match it."""

import json
import re
from concurrent.futures import ThreadPoolExecutor
from unittest.mock import patch

import pytest
from django.test import RequestFactory
from django.urls import path
from drf_spectacular.drainage import GENERATOR_STATS
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.settings import patched_settings
from drf_spectacular.validation import validate_schema
from jsonschema import Draft202012Validator
from rest_framework.serializers import BooleanField, ListField

from bookmarks import openapi
from bookmarks.files import FORMATS_BY_TYPE
from bookmarks.openapi import IMPORT_EXAMPLES
from bookmarks.serializers import NewBookmarkEnvelope
from bookmarks.views import BookmarksView
from bookmarks_service import schema
from tests.calls import operations_of
from tests.operations import (
    OPERATIONS,
    WITH_A_BODY,
    WITH_IF_MATCH,
    caller,
)
from tests.usergroups.factories import UserGroupFactory
from usergroups.api.openapi import codes_of_field

pytestmark = pytest.mark.database_independent


@pytest.fixture(scope="module")
def document():
    return SchemaGenerator().get_schema(request=None, public=True)


HEADERS_OF_THE_SERVICE = {
    "Content-Type",
    "Content-Length",
    "Vary",
    "X-Frame-Options",
    "X-Content-Type-Options",
    "Referrer-Policy",
    "Cross-Origin-Opener-Policy",
}
"""Headers of responses that the document leaves out, because they have nothing
to do with the operation.
"""


def test_concurrent_first_requests_generate_the_document_once():
    schema.generated.cache_clear()
    request = RequestFactory().get("/schema/")
    generate = SchemaGenerator.get_schema
    get_schema = patch.object(
        SchemaGenerator, "get_schema", autospec=True, side_effect=generate
    )

    with get_schema as generated, ThreadPoolExecutor(4) as pool:
        calls = [pool.submit(schema.schema, request) for _ in range(4)]
        contents = {call.result().content for call in calls}

    assert generated.call_count == 1
    assert len(contents) == 1


def test_the_document_is_small_and_served_with_an_etag(client):
    response = client.get("/schema/")
    again = client.get("/schema/", headers={"If-None-Match": response["ETag"]})

    assert len(response.content) <= 160 * 1000
    assert again.status_code == 304


def test_no_component_stands_twice(document):
    for kind in ("headers", "parameters", "responses"):
        components = document["components"][kind].values()
        texts = [json.dumps(component, sort_keys=True) for component in components]
        assert len({*texts}) == len(texts)


def test_no_field_of_a_body_has_a_default(document):
    """A generator of types for TypeScript requires fields with a default."""
    for name, component in document["components"]["schemas"].items():
        for field, described in component.get("properties", {}).items():
            assert "default" not in described, (name, field)


def test_the_schemes_are_known_to_every_client(document):
    schemes = document["components"]["securitySchemes"]

    access_token = schemes["BookmarksAccessToken"]
    api_token = schemes["UsergroupsApiToken"]
    assert (access_token["type"], access_token["scheme"]) == ("http", "bearer")
    assert (api_token["type"], api_token["in"]) == ("apiKey", "header")
    assert api_token["name"] == "Authorization"
    assert "the word `Token`, a space and the token" in api_token["description"]
    scheme_of = {"api": "UsergroupsApiToken", "v1": "BookmarksAccessToken"}
    for url, _, operation in operations_of(document).values():
        assert operation["security"] == [{scheme_of[url.split("/")[1]]: []}]


def test_the_list_of_the_operations_is_complete(document):
    assert operations_of(document).keys() == OPERATIONS.keys()


@pytest.mark.parametrize("name", OPERATIONS)
def test_every_error_has_codes_that_the_document_lists(document, name):
    for response in errors_of(document, name).values():
        schema = response["content"]["application/json"]["schema"]
        failure = resolved(document, schema)["properties"]
        problem = resolved(document, failure["errors"]["items"])["properties"]
        known = resolved(document, problem["code"])["x-extensible-enum"]

        assert resolved(document, failure["success"])["enum"] == [0]
        assert codes_of(response)
        assert codes_of(response) <= set(known)


COUNTED = {"RateLimit", "RateLimit-Policy"}
HEADERS_OF_ERRORS = {
    "401": {"WWW-Authenticate"},
    "405": {"Allow"},
    "429": {*COUNTED, "Retry-After"},
    "503": {*COUNTED, "Retry-After"},
}
"""The headers of errors with these statuses. Other errors have COUNTED."""


@pytest.mark.parametrize("name", OPERATIONS)
def test_the_headers_of_every_error_are_documented(document, name):
    for status, response in errors_of(document, name).items():
        expected = {"Cache-Control", "X-Request-ID"}
        expected |= HEADERS_OF_ERRORS.get(status, COUNTED)
        if "already_exists" in codes_of(response):
            expected.add("Location")
        assert response["headers"].keys() == expected


def errors_of(document, name):
    """Return the error responses of an operation by status."""
    _, _, operation = operations_of(document)[name]
    return {
        status: resolved(document, response)
        for status, response in operation["responses"].items()
        if status >= "400"
    }


def codes_of(response):
    """Return the codes that the description of an error response lists."""
    return set(re.findall(r"`(\w+)`", response["description"].partition(" Codes: ")[2]))


def test_the_codes_of_an_operation_are_those_of_its_fields(document):
    def codes(name, status):
        return codes_of(errors_of(document, name)[status])

    # of every operation
    common = {"bad_request", "parse_error", "unknown_parameter"}
    of_body = {"too_many_values", "too_many_errors", "unknown_field", "overflow"}
    of_body |= {"null_characters_not_allowed", "surrogate_characters_not_allowed"}
    of_name = {"required", "null", "blank", "invalid", "max_length"}
    of_collection = common | of_body | of_name
    assert codes("create_collection", "400") == of_collection
    assert codes("update_collection", "400") == of_collection - {"required"}
    of_bookmark = {"invalid", "max_length", "does_not_exist"}
    assert codes("update_bookmark", "400") >= common | of_bookmark
    # It is in the result of an item.
    assert "in_future" not in codes("create_bookmarks", "400")
    # A parameter is a list if it may be repeated, and no item is missing.
    assert codes("list_bookmarks", "400").isdisjoint({"required", "not_a_list"})
    # A number in a text is invalid in a body.
    assert "max_string_length" not in codes("issue_access_token", "400")
    assert "required" not in codes("list_collections", "400")
    assert "repeated_parameter" in codes("list_collections", "400")
    assert codes("get_bookmark", "400") == common
    assert codes("get_bookmark", "404") == {"bookmark_not_found", "not_found"}
    assert codes("get_bookmark", "405") == {"method_not_allowed"}
    assert codes("update_collection", "409") == {"already_exists"}


@pytest.mark.parametrize("allow_empty", [True, False])
def test_a_list_of_a_host_that_must_not_be_empty_has_a_code_for_it(allow_empty):
    codes = codes_of_field(ListField(allow_empty=allow_empty))

    assert ("empty" in codes) == (not allow_empty)


def test_only_texts_that_may_be_empty_have_no_minimum_length(document):
    schemas = document["components"]["schemas"]
    user_group = schemas["UsergroupsUserGroupUpdate"]["properties"]
    bookmark = schemas["BookmarksBookmarkCreate"]["properties"]

    assert user_group["name"]["minLength"] == 1
    assert bookmark["url"]["minLength"] == 1
    assert "minLength" not in bookmark["title"]


def parameters_of(document, name):
    _, _, operation = operations_of(document)[name]
    return [resolved(document, each) for each in operation.get("parameters", [])]


def test_every_parameter_but_a_cursor_has_an_example(document):
    for parameter in document["components"]["parameters"].values():
        has_example = "examples" in parameter or "example" in parameter["schema"]
        assert has_example == (parameter["name"] != "cursor"), parameter["name"]


LISTS = [name for name in OPERATIONS if name.startswith("list_")]


@pytest.mark.django_db
@pytest.mark.parametrize("name", LISTS)
def test_a_list_accepts_the_examples_of_its_parameters(
    document, api_client, name, settings
):
    settings.USERGROUPS_DELETION_RETENTION_DAYS = 36_500
    examples = {
        each["name"]: each["schema"]["example"]
        for each in parameters_of(document, name)
        if each["name"] != "cursor"
    }
    user_group = UserGroupFactory(provided_id="example_1")

    response = caller(api_client, user_group, name)(query=examples)

    assert response.status_code == 200


@pytest.mark.parametrize("version", ["3.0.3", "3.1.1"])
def test_the_document_is_valid_in_each_version_that_a_host_may_choose(version):
    # 3.0.3 has no identifiers of licenses.
    with patched_settings({"OAS_VERSION": version, "LICENSE": {}}):
        validate_schema(SchemaGenerator().get_schema(request=None, public=True))

    assert not GENERATOR_STATS  # no warnings


def test_if_match_is_the_only_header_of_requests(document):
    headers = {
        (name, parameter["name"])
        for name in OPERATIONS
        for parameter in parameters_of(document, name)
        if parameter["in"] == "header"
    }

    assert headers == {(name, "If-Match") for name in WITH_IF_MATCH}


class HostEnvelope(NewBookmarkEnvelope):
    """A response to which a host adds a field."""

    is_new = BooleanField()


class HostView(BookmarksView):
    http_method_names = ["post"]
    response_serializers = {"POST": HostEnvelope}

    @openapi.create_bookmark
    def post(self, request):
        return super().post(request)


def test_a_host_documents_a_method_that_it_overrides_by_the_same_decorator():
    generator = SchemaGenerator(patterns=[path("bookmarks", HostView.as_view())])
    methods = generator.get_schema(public=True)["paths"]["/bookmarks"]
    operation = methods["post"]

    assert methods.keys() == {"post"}  # HostView has turned off GET.
    assert operation["operationId"] == "create_bookmark"
    assert operation["responses"].keys() >= {"200", "201", "400", "403", "503"}
    created = operation["responses"]["201"]["content"]["application/json"]
    assert created["schema"]["$ref"].endswith("/HostEnvelope")


JSON = {"application/json"}
TYPES_OF_ANSWERS = {"export_bookmarks": {"text/html", "application/jsonl", "text/csv"}}
"""The media types of a successful answer, if it is not JSON."""


@pytest.mark.parametrize("name", OPERATIONS)
def test_every_answer_is_documented_with_an_example(document, name):
    _, method, operation = operations_of(document)[name]
    expected = {"400", "401", "405", "429", "500", "503"}
    if method != "get" and not OPERATIONS[name].is_read:
        expected.add("403")
    if OPERATIONS[name].body:
        expected |= {"413", "415"}
    responses = operation["responses"]

    assert expected <= responses.keys()
    assert ("404" in responses) == OPERATIONS[name].needs_object
    success = responses.get("200") or responses["201"]
    assert success["content"].keys() == TYPES_OF_ANSWERS.get(name, JSON)
    for response in responses.values():
        for content in resolved(document, response)["content"].values():
            check_examples(document, content)


def check_examples(document, content):
    """Check the examples, or what the examples of all fields make."""
    named = content.get("examples", {}).values()
    examples = [resolved(document, each)["value"] for each in named]
    for value in examples or [composed(document, content["schema"])]:
        validator(document, content["schema"]).validate(value)


def composed(document, schema):
    """Return the value that programs show as an example of a schema."""
    schema = resolved(document, schema)
    if "example" in schema:
        return schema["example"]
    if "enum" in schema:
        return schema["enum"][0]
    if "properties" in schema:
        properties = schema["properties"].items()
        return {name: composed(document, each) for name, each in properties}
    if schema["type"] == "array":
        return [composed(document, schema["items"])]
    return {"boolean": True, "integer": 1}[schema["type"]]


def test_each_type_of_a_file_has_an_example_or_is_named(document):
    _, _, operation = operations_of(document)["import_bookmarks"]

    assert operation["requestBody"]["content"].keys() == IMPORT_EXAMPLES.keys()
    assert all(
        media_type in operation["description"]
        for media_type in FORMATS_BY_TYPE.keys() - IMPORT_EXAMPLES.keys()
    )
    assert operation["requestBody"]["required"]
    assert {"413", "415"} <= operation["responses"].keys()
    for content in operation["requestBody"]["content"].values():
        check_examples(document, content)


@pytest.mark.parametrize("name", WITH_A_BODY)
def test_every_request_has_a_valid_example(document, name):
    _, _, operation = operations_of(document)[name]
    content = operation["requestBody"]["content"]

    assert content.keys() == JSON
    check_examples(document, content["application/json"])


@pytest.mark.django_db
@pytest.mark.parametrize("any_operation", WITH_A_BODY, indirect=True)
def test_a_body_that_has_no_other_fields_says_so(document, any_operation, request):
    """A body may also have the fields of an answer about the same object."""
    name = request.node.callspec.params["any_operation"]
    _, _, operation = operations_of(document)[name]
    content = operation["requestBody"]["content"]["application/json"]
    schema = resolved(document, content["schema"])

    [refusal] = any_operation({"colour": 1}).json()["errors"]

    known = refusal["detail"].partition("has: ")[2].removesuffix(".").split(", ")
    takes_no_others = schema["properties"].keys() == {*known}
    assert refusal["code"] == "unknown_field"
    assert (schema.get("additionalProperties") is False) == takes_no_others


def validator(document, schema):
    return Draft202012Validator({**schema, "components": document["components"]})


def resolved(document, content):
    """Return the component that the content refers to, or the content itself."""
    if "$ref" not in content:
        return content
    _, _, kind, name = content["$ref"].split("/")
    return document["components"][kind][name]


def check_answer(document, name, answer):
    """Check the status, the body and the headers of the answer of an operation."""
    _, _, operation = operations_of(document)[name]
    described = resolved(document, operation["responses"][str(answer.status_code)])
    media_type = answer["Content-Type"].partition(";")[0]
    value = answer.content.decode()
    if media_type == "application/json":
        value = json.loads(value)
    schema_of_answer = described["content"][media_type]["schema"]
    validator(document, schema_of_answer).validate(value)
    headers = answer.headers.keys() - HEADERS_OF_THE_SERVICE
    assert headers <= described["headers"].keys()


def test_answers_match_their_schema(document, any_operation, valid_body, request):
    """The second answer may differ, for example because the first call has
    deleted the object.
    """
    name = request.node.callspec.params["any_operation"]

    answers = [any_operation(valid_body) for _ in range(2)]

    assert answers[0].status_code in (200, 201)
    for answer in answers:
        check_answer(document, name, answer)


ODD_VALUES = [
    "",
    "a" * 3000,
    "\0",
    "-1",
    -1,
    10**30,
    0.5,
    True,
    None,
    [],
    [None],
    [{}],
    [["a"]],
    {"a": {}},
]
"""Values that few fields and parameters accept. Parameters get their text."""


def test_answers_to_odd_values_match_their_schema(
    document, any_operation, valid_body, request
):
    name = request.node.callspec.params["any_operation"]
    keys = [
        each["name"] for each in parameters_of(document, name) if each["in"] == "query"
    ]
    answers = [any_operation({})]
    for value in ODD_VALUES:
        answers += [any_operation(valid_body, query={key: str(value)}) for key in keys]
        if name in WITH_A_BODY:
            answers += [any_operation({**valid_body, key: value}) for key in valid_body]

    for answer in answers:
        assert answer.status_code < 500
        check_answer(document, name, answer)
