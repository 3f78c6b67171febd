"""The errors of fields that cannot be stored or that an operation does not
know.
"""

import json

import pytest
from rest_framework import serializers

from tests.answers import detail, errors
from tests.bookmarks.factories import BookmarkFactory
from tests.operations import WITH_A_BODY, caller
from usergroups.api import requests
from usergroups.api.requests import known_fields
from usergroups.db.storable_text import require_storable_json
from usergroups.serializers import ListedUserGroupSerializer, UserGroupUpdateSerializer

pytestmark = pytest.mark.django_db

NULL = "null_characters_not_allowed"
SURROGATE = "surrogate_characters_not_allowed"

UNSTORABLE = {
    "U+0000": (r'"\u0000"', NULL),
    "lone high surrogate": (r'"\ud83d"', SURROGATE),
    "lone low surrogate": (r'"x\uDC00"', SURROGATE),
    "surrogates in the wrong order": (r'"\udc00\ud800"', SURROGATE),
    "overflow": ("1e400", "overflow"),
    "negative overflow": ("-1e400", "overflow"),
    "integer that overflows a double": ("1" + "0" * 309, "overflow"),
    "integer of 4,000 digits": ("-1" + "0" * 3999, "overflow"),
}

FIELDS = {
    # The token is ignored otherwise.
    "update_user_group": ["user_group_id", "name", "mapping", "properties", "token"],
    "create_bookmark": ["url", "title", "note", "tags", "collection", "created_at"],
    "update_bookmark": ["title"],
    "create_collection": ["name"],
    "move_bookmarks": ["collection"],
    "issue_access_token": ["expires_in"],
    "resolve_user_group": ["token"],
}


def with_value(body, text):
    """Return the JSON of a body, with ``text`` in place of each "VALUE"."""
    return json.dumps(body).replace('"VALUE"', text).encode()


@pytest.fixture
def call(api_client, user_group):
    """Return a function that sends a body to the operation with this name."""
    return lambda name, body: caller(api_client, user_group, name)(body)


@pytest.mark.parametrize(
    ("name", "field"), [(name, field) for name in FIELDS for field in FIELDS[name]]
)
def test_a_value_that_cannot_be_stored_is_the_error_of_its_field(
    call, valid_body, name, field
):
    for text, code in UNSTORABLE.values():
        response = call(name, with_value({**valid_body, field: "VALUE"}, text))

        assert errors(response) == [(field, code)]


@pytest.mark.parametrize(
    ("attr", "value"),
    [
        ("properties", {"a": "VALUE"}),
        ("properties", {"a": [{"b": ["VALUE"]}], "c": 1}),
        ("mapping", {"40": "VALUE"}),
        ("properties", ["a", "VALUE"]),
    ],
)
def test_a_field_with_a_value_that_cannot_be_stored_is_invalid(
    update_user_group, user_group, attr, value
):
    body = {"user_group_id": user_group.provided_id, "name": "A", attr: value}

    for text, code in UNSTORABLE.values():
        assert errors(update_user_group(with_value(body, text))) == [(attr, code)]
    user_group.refresh_from_db()
    assert user_group.name != "A"


@pytest.mark.parametrize(
    ("member", "attr", "code"),
    [
        (r'"properties": {"a\u0000": 1}', "properties", NULL),
        (r'"properties": {"a": [{"\u0000": 1}]}', "properties", NULL),
        # as text, because UTF-8 has no lone surrogates
        (r'"properties": {"\ud800": 1}', "properties", SURROGATE),
        (r'"mapping": {"\ud800": 1}', "mapping", SURROGATE),
        (r'"\ud800": 1', r"\ud800", SURROGATE),
        (r'"name\u0000": "A"', "name\0", NULL),
    ],
)
def test_a_key_that_cannot_be_stored_is_an_error(
    update_user_group, user_group, member, attr, code
):
    body = f'{{"user_group_id": "{user_group.provided_id}", {member}}}'

    assert errors(update_user_group(body.encode())) == [(attr, code)]


def test_every_field_that_cannot_be_stored_is_listed(call_bookmarks):
    body = rb'{"url": "https://a/\ud83d", "title": "\u0000", "note": 1e400}'

    response = call_bookmarks("POST", "bookmarks", body=body)

    assert errors(response) == [
        ("url", SURROGATE),
        ("title", NULL),
        ("note", "overflow"),
    ]


def test_the_check_stops_when_there_are_more_errors_than_are_listed(
    create_bookmark, monkeypatch
):
    checked = []
    monkeypatch.setattr(
        requests,
        "require_storable_json",
        lambda value: checked.append(value) or require_storable_json(value),
    )
    body = {f"field{n}": "VALUE" for n in range(1000)}

    listed = errors(create_bookmark(with_value(body, r'"\ud83d"')))

    assert len(listed) == 100
    assert listed[0] == ("field0", SURROGATE)
    assert listed[-1] == (None, "too_many_errors")
    # the body, and each field
    assert len(checked) == 1 + 101


def results(response):
    """Return, for each item of a batch, its status and the field and code of
    its errors.
    """
    assert response.status_code == 200
    return [
        (
            result["status"],
            [(error["attr"], error["code"]) for error in result.get("errors", [])],
        )
        for result in response.json()["results"]
    ]


@pytest.mark.parametrize(("text", "code"), UNSTORABLE.values(), ids=UNSTORABLE)
def test_in_a_batch_it_is_the_error_of_the_item(call_usergroups, text, code):
    emoji = {"emoji": "\N{GRINNING FACE}"}
    items = [
        {"user_group_id": "a", "properties": emoji},
        {"user_group_id": "b", "properties": {"k": "VALUE"}},
        {"user_group_id": "c", "mapping": {"40": "VALUE"}, "name": "C"},
        {"user_group_id": "d", "name": "VALUE"},
    ]
    body = with_value({"user_groups": items}, text)

    response = call_usergroups("POST", "users-batch", body)

    assert results(response) == [
        (201, []),
        (400, [("properties", code)]),
        (400, [("mapping", code)]),
        (400, [("name", code)]),
    ]
    assert response.json()["results"][0]["user_group"]["properties"] == emoji


@pytest.mark.parametrize("name", ["delete_bookmarks", "move_bookmarks"])
def test_an_id_that_cannot_be_stored_is_the_error_of_its_item(
    call, user_group, valid_body, name
):
    bookmark = BookmarkFactory(user_group=user_group)
    body = {**valid_body, "ids": ["VALUE", str(bookmark.pk)]}

    response = call(name, with_value(body, r'"\ud83d"'))

    assert results(response) == [(400, [(None, SURROGATE)]), (200, [])]


# Unknown fields


@pytest.mark.parametrize("name", WITH_A_BODY)
def test_an_unknown_field_is_refused(call, valid_body, name):
    response = call(name, {**valid_body, "colection": None, "propertys": {}})

    assert errors(response) == [
        ("colection", "unknown_field"),
        ("propertys", "unknown_field"),
    ]
    assert detail(response).startswith("Unknown field. The operation has: ")


def test_the_errors_of_many_unknown_fields_are_limited(create_bookmark):
    response = create_bookmark({f"unknown{n}": n for n in range(1000)})

    listed = errors(response)
    assert len(listed) == 100
    assert listed[0] == ("unknown0", "unknown_field")
    assert listed[-1] == (None, "too_many_errors")


def test_in_a_batch_an_unknown_field_is_the_error_of_its_item(
    call_usergroups, call_bookmarks
):
    groups = [{"user_group_id": "a", "nam": "A"}, {"user_group_id": "b"}]
    items = {"bookmarks": [{"url": "https://a/", "tag": []}, {"url": "https://b/"}]}

    of_groups = call_usergroups("POST", "users-batch", {"user_groups": groups})
    of_bookmarks = call_bookmarks("POST", "bookmarks-batch", body=items)

    assert results(of_groups) == [(400, [("nam", "unknown_field")]), (201, [])]
    assert results(of_bookmarks) == [(400, [("tag", "unknown_field")]), (201, [])]


def test_a_user_group_can_be_sent_back(call_usergroups, user_group):
    id_ = {"user_group_id": user_group.provided_id}
    read = call_usergroups("GET", "user", query=id_).json()["user_group"]
    sent = {**read, "token": "other", "team_id": 0, "created_at": "never"}

    for method in ("POST", "PUT"):
        answer = call_usergroups(method, "user", sent).json()["user_group"]
        assert answer == {name: read[name] for name in answer}
    batch = call_usergroups("POST", "users-batch", {"user_groups": [sent]})
    assert results(batch) == [(200, [])]
    assert call_usergroups("GET", "user", query=id_).json()["user_group"] == read


@pytest.mark.parametrize(
    "name",
    [
        "create_user_group",
        "update_user_group",
        "rotate_user_group_token",
        "issue_access_token",
    ],
)
def test_a_body_may_name_its_user_group_as_answers_do(call, user_group, name):
    provided_id = user_group.provided_id

    assert call(name, {"provided_id": provided_id}).status_code in (200, 201)
    both = {"provided_id": provided_id, "user_group_id": provided_id}
    assert call(name, both).status_code in (200, 201)
    differ = call(name, {**both, "user_group_id": "other"})
    assert errors(differ) == [("provided_id", "invalid")]
    assert errors(call(name, {"provided_id": None})) == [("user_group_id", "null")]


def test_a_bookmark_can_be_sent_back(call_bookmarks, user_group, collection):
    key = BookmarkFactory(user_group=user_group, collection=collection).pk
    read = call_bookmarks("GET", "bookmark", key).json()["bookmark"]
    sent = {**read, "created_at": "never"}

    created = call_bookmarks("POST", "bookmarks", body=read)
    changed = call_bookmarks("PATCH", "bookmark", key, body=sent)
    batch = call_bookmarks("POST", "bookmarks-batch", body={"bookmarks": [read]})

    assert created.json()["bookmark"] == changed.json()["bookmark"] == read
    assert results(batch) == [(200, [])]


def test_a_collection_can_be_sent_back(call_bookmarks, collection):
    read = call_bookmarks("GET", "collection", collection.pk).json()["collection"]

    changed = call_bookmarks("PATCH", "collection", collection.pk, body=read)
    created = call_bookmarks("POST", "collections", body={**read, "name": "Other"})

    assert changed.json()["collection"] == read
    assert created.status_code == 201
    assert created.json()["collection"]["id"] != read["id"]


def test_only_fields_of_the_same_object_are_ignored(call_bookmarks, call_usergroups):
    """The answer to a new bookmark also has the user group."""
    new = {"url": "https://a/", "team_id": 1}
    bookmark = call_bookmarks("POST", "bookmarks", body=new)
    # A misspelt expires_in would issue a token that never expires.
    misspelt = {"user_group_id": "a", "expires_at": None}
    token = call_usergroups("POST", "user-token", misspelt)

    assert errors(bookmark) == [("team_id", "unknown_field")]
    assert errors(token) == [("expires_at", "unknown_field")]


class ColouredDetailSerializer(ListedUserGroupSerializer):
    rank = serializers.IntegerField()


class ColouredUpdateSerializer(UserGroupUpdateSerializer):
    """A body to which a host adds a field."""

    answer = ColouredDetailSerializer
    colour = serializers.CharField()


def test_the_serializer_of_a_host_knows_its_fields():
    known = known_fields(ColouredUpdateSerializer).keys()

    assert known == {*known_fields(UserGroupUpdateSerializer), "colour", "rank"}
