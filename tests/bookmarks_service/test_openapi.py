"""The OpenAPI document has all operations, and the answers match it."""

import json

import pytest
from django.core.management import call_command
from drf_spectacular.generators import SchemaGenerator
from jsonschema import Draft202012Validator

from tests.contract.conftest import BATCHES, OPERATIONS, SINGLE_WRITES


@pytest.fixture(scope="module")
def document():
    return SchemaGenerator().get_schema(request=None, public=True)


def operations_of(document):
    return {
        operation["operationId"]: (path, method, operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    }


def test_the_document_is_valid_and_has_no_warnings(tmp_path):
    call_command("spectacular", "--validate", "--fail-on-warn", "--file", str(tmp_path / "schema.yml"))


def test_the_document_has_exactly_the_operations(document):
    described = {name: method.upper() for name, (_, method, _) in operations_of(document).items()}

    assert described == {name: operation.method for name, operation in OPERATIONS.items()}


def test_the_security_schemes_are_http_schemes(document):
    schemes = document["components"]["securitySchemes"]

    assert {name: (scheme["type"], scheme["scheme"]) for name, scheme in schemes.items()} == {
        "ApiToken": ("http", "Token"),
        "AccessToken": ("http", "bearer"),
    }
    scheme_of = {"api": "ApiToken", "v1": "AccessToken"}
    for path, _, operation in operations_of(document).values():
        assert operation["security"] == [{scheme_of[path.split("/")[1]]: []}]


@pytest.mark.parametrize("name", OPERATIONS)
def test_every_answer_is_documented_with_an_example(document, name):
    path, method, operation = operations_of(document)[name]
    expected = {"401", "500", "503"}
    expected |= {"403"} if method != "get" else set()
    expected |= {"400", "413", "415"} if OPERATIONS[name].has_body else set()
    responses = operation["responses"]

    assert expected <= responses.keys()
    assert {"200", "201"} & responses.keys()
    assert ("404" in responses) == ("{" in path or (path in ("/api/user", "/api/user/token") and name[:3] != "cre"))
    for response in responses.values():
        content = response["content"]["application/json"]
        assert content["examples"]
        for example in content["examples"].values():
            validator(document, content["schema"]).validate(example["value"])


@pytest.mark.parametrize("name", SINGLE_WRITES)
def test_every_request_has_a_valid_example(document, name):
    content = operations_of(document)[name][2]["requestBody"]["content"]

    assert content.keys() == {"application/json"}
    for example in content["application/json"]["examples"].values():
        validator(document, content["application/json"]["schema"]).validate(example["value"])


@pytest.mark.parametrize("name", BATCHES)
def test_every_batch_has_an_example(document, name):
    """The examples of batches have an invalid item on purpose."""
    content = operations_of(document)[name][2]["requestBody"]["content"]

    assert content.keys() == {"application/json"}
    assert content["application/json"]["examples"]


def validator(document, schema):
    """Return a validator for the schema, with OpenAPI's ``nullable`` translated to JSON Schema."""

    def translate(node):
        if isinstance(node, list):
            return [translate(item) for item in node]
        if not isinstance(node, dict):
            return node
        node = {key: translate(value) for key, value in node.items()}
        if node.pop("nullable", False) is True:
            return {"anyOf": [node, {"type": "null"}]}
        return node

    return Draft202012Validator(translate({**schema, "components": document["components"]}))


@pytest.mark.parametrize("body", [None, {}, {"user_group_id": 1, "url": 1, "name": 1, "user_groups": [1]}])
def test_answers_match_their_schema(document, any_operation, valid_body, request, body):
    name = request.node.callspec.params["any_operation"]
    _, _, operation = operations_of(document)[name]
    valid = {**valid_body, "user_groups": [{"user_group_id": "a"}, {}], "bookmarks": [{"url": "http://a/"}, {}]}

    answers = [any_operation(valid if body is None else body) for _ in range(2)]

    assert answers[0].status_code in ((200, 201) if body is None else (200, 201, 400))
    for answer in answers:
        content = operation["responses"][str(answer.status_code)]["content"]
        validator(document, content["application/json"]["schema"]).validate(json.loads(answer.content))


@pytest.mark.parametrize(
    ("body", "valid"),
    [
        ({"user_group_id": "a", "mapping": {"1": "a", "2": 3}, "properties": None}, True),
        ({"user_group_id": ""}, False),
        ({"user_group_id": "a" * 256}, False),
        ({}, False),
        ({"user_group_id": "a", "mapping": {"1": 1.5}}, False),
        ({"user_group_id": "a", "properties": []}, False),
    ],
)
def test_the_schema_of_a_body_refuses_invalid_ones(document, body, valid):
    content = operations_of(document)["update_user_group"][2]["requestBody"]["content"]

    assert validator(document, content["application/json"]["schema"]).is_valid(body) == valid
