"""The OpenAPI document says what the contract says, and the answers are what it says."""

import json

import pytest
from django.core.management import call_command
from drf_spectacular.generators import SchemaGenerator
from jsonschema import Draft202012Validator

from tests.bookmarks.factories import CollectionFactory

OPERATIONS = {("/api/user", "put"): "ApiToken", ("/v1/bookmarks", "post"): "AccessToken"}


@pytest.fixture(scope="module")
def document():
    return SchemaGenerator().get_schema(request=None, public=True)


def test_it_is_valid_and_without_warnings(tmp_path):
    call_command("spectacular", "--validate", "--fail-on-warn", "--file", str(tmp_path / "schema.yml"))


def test_it_has_both_operations_and_nothing_else(document):
    found = {(path, method) for path, methods in document["paths"].items() for method in methods}

    assert found == OPERATIONS.keys()


def test_the_schemes_are_of_http(document):
    schemes = document["components"]["securitySchemes"]

    assert {name: (scheme["type"], scheme["scheme"]) for name, scheme in schemes.items()} == {
        "ApiToken": ("http", "Token"),
        "AccessToken": ("http", "bearer"),
    }
    for (path, method), scheme in OPERATIONS.items():
        assert document["paths"][path][method]["security"] == [{scheme: []}]


def test_every_error_is_documented_with_an_example_of_its_body(document):
    expected = {
        "/api/user": {"200", "400", "401", "403", "404", "413", "415", "500", "503"},
        "/v1/bookmarks": {"200", "201", "400", "401", "403", "413", "415", "500", "503"},
    }
    for path, method in OPERATIONS:
        responses = document["paths"][path][method]["responses"]
        assert responses.keys() == expected[path]
        for response in responses.values():
            content = response["content"]["application/json"]
            assert content["examples"]
            for example in content["examples"].values():
                validator(document, content["schema"]).validate(example["value"])


def validator(document, schema):
    """OpenAPI 3.0's ``nullable`` as JSON Schema's null."""

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


def body_schema(document, path, method):
    content = document["paths"][path][method]["requestBody"]["content"]
    assert content.keys() == {"application/json"}
    return content["application/json"]


def test_the_examples_of_requests_are_valid(document):
    for path, method in OPERATIONS:
        content = body_schema(document, path, method)
        for example in content["examples"].values():
            validator(document, content["schema"]).validate(example["value"])


@pytest.mark.parametrize("collection", [None, CollectionFactory])
def test_bookmark_answers_are_what_is_documented(document, create_bookmark, user_group, collection):
    key = collection and str(collection(user_group=user_group).pk)
    answers = [create_bookmark({"url": "https://example.com/", "collection": key}) for _ in range(2)]
    failure = create_bookmark({})

    assert [answer.status_code for answer in (*answers, failure)] == [201, 200, 400]
    for answer in (*answers, failure):
        validate_answer(document, "/v1/bookmarks", "post", answer)


@pytest.mark.parametrize("fields", [{}, {"properties": {"a": [1, None]}, "mapping": {"1": "a", "2": 3}}])
def test_user_group_answers_are_what_is_documented(document, update_user_group, user_group, fields):
    answers = [
        update_user_group({"user_group_id": user_group.provided_id, **fields}),
        update_user_group({"user_group_id": "unknown"}),
        update_user_group({"user_group_id": 1}),
    ]

    assert [answer.status_code for answer in answers] == [200, 404, 400]
    for answer in answers:
        validate_answer(document, "/api/user", "put", answer)


def validate_answer(document, path, method, answer):
    content = document["paths"][path][method]["responses"][str(answer.status_code)]["content"]
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
def test_the_document_tells_good_bodies_from_bad(document, body, valid):
    assert validator(document, body_schema(document, "/api/user", "put")["schema"]).is_valid(body) == valid
