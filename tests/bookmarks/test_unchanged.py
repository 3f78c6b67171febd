"""Writing the values that a row already has changes nothing."""

import pytest

from bookmarks.models import Bookmark, Collection
from tests.answers import etag_of
from tests.bookmarks.factories import BookmarkFactory
from tests.signals import recorded
from usergroups.db.stored_json import encode
from usergroups.models import UserGroup

pytestmark = pytest.mark.django_db

FIELDS = {"name": "A", "mapping": {"1": "x"}, "properties": {"a": [1, None], "b": 2}}


@pytest.fixture
def user_group(user_group):
    user_group.name, user_group.mapping, user_group.properties = FIELDS.values()
    user_group.save()
    return user_group


@pytest.fixture
def bookmark(user_group, collection):
    return BookmarkFactory(
        user_group=user_group,
        collection=collection,
        url="https://example.com/",
        title="T",
        tags=["A", "B"],
        note="N",
    )


@pytest.fixture
def write(call_usergroups, call_bookmarks, user_group, bookmark, collection):
    """Return a function that makes a call with these values, or the stored
    ones, and returns the response.
    """
    group = {"user_group_id": user_group.provided_id}
    place = {"collection": str(collection.pk)}
    ids = {"ids": [str(bookmark.pk)]}
    # The tags become the stored ones.
    texts = {"title": "T", "tags": ["A", "B", " a "], "note": "N"}
    operations = {
        "PUT": (
            FIELDS,
            lambda values: call_usergroups("PUT", "user", {**group, **values}),
        ),
        "batch of user groups": (
            FIELDS,
            lambda values: call_usergroups(
                "POST", "users-batch", {"user_groups": [{**group, **values}]}
            ),
        ),
        "PATCH bookmark": (
            {"url": bookmark.url, **texts, **place},
            lambda values: call_bookmarks(
                "PATCH", "bookmark", bookmark.pk, body=values
            ),
        ),
        "PATCH collection": (
            {"name": collection.name},
            lambda values: call_bookmarks(
                "PATCH", "collection", collection.pk, body=values
            ),
        ),
        "move": (
            place,
            lambda values: call_bookmarks(
                "POST", "bookmarks-batch-move", body={**ids, **values}
            ),
        ),
    }

    def call(operation, **values):
        stored, send = operations[operation]
        return send(values or stored)

    return call


def versions():
    return [
        row.updated_at
        for model in (UserGroup, Collection, Bookmark)
        for row in model.objects.all()
    ]


CHANGES = {
    "PUT": [
        {"name": "B"},
        {"mapping": {}},
        {"properties": None},
        {"properties": {"a": [True, None], "b": 2}},
    ],
    "batch of user groups": [
        {"name": "B"},
        {"mapping": {"1": 1}},
        {"properties": {"a": [None, 1], "b": 2}},
    ],
    "PATCH bookmark": [
        {"title": ""},
        {"tags": ["B", "A"]},
        {"tags": ["a", "B"]},
        {"tags": []},
        {"note": ""},
        {"collection": None},
        {"url": "https://EXAMPLE.com/"},
    ],
    "PATCH collection": [{"name": "B"}],
    "move": [{"collection": None}],
}
"""Changes by operation."""


@pytest.mark.parametrize("name", CHANGES)
def test_a_write_of_the_same_values_changes_nothing(write, name):
    before = versions()

    with recorded() as sent:
        response = write(name)

    assert response.status_code == 200
    assert versions() == before
    assert sent == []


@pytest.mark.parametrize(
    ("name", "values"),
    [(name, values) for name, each in CHANGES.items() for values in each],
)
def test_another_value_changes_the_version(write, name, values):
    before = versions()

    with recorded() as sent:
        assert write(name, **values).status_code == 200

    assert len(set(versions()) - set(before)) == 1
    [(signal, _, arguments)] = sent
    assert (signal, arguments["fields"]) == ("updated", set(values))


STORED = {"a": {"x": 1, "y": [1.0, "é"]}, "b": 100, "c": True, "d": 10**300}
SAME_JSON = {
    "other order": {"d": 10**300, "c": True, "b": 100, "a": {"y": [1, "é"], "x": 1}},
    "floats": {**STORED, "a": {"x": 1.0, "y": [1, "é"]}, "b": 1e2},
}
OTHER_JSON = {
    "true for 1": {**STORED, "a": {"x": True, "y": [1.0, "é"]}},
    "1 for true": {**STORED, "c": 1},
    "text for a number": {**STORED, "b": "100"},
    "another digit": {**STORED, "d": 10**300 + 1},
    "another order of a list": {**STORED, "a": {"x": 1, "y": ["é", 1.0]}},
    "null": None,
    "empty": {},
}


@pytest.fixture(params=["PUT", "PUT with If-Match", "batch"])
def put(request, update_user_group, call_usergroups, user_group):
    """Return a function that updates the user group, whose properties are
    STORED, in one of the ways to do so.
    """
    UserGroup.objects.update(properties=STORED)
    user_group.refresh_from_db()
    etag = etag_of(user_group.updated_at)

    def call(**fields):
        body = {"user_group_id": user_group.provided_id, **fields}
        match request.param:
            case "PUT":
                response = update_user_group(body)
            case "PUT with If-Match":
                response = update_user_group(body, HTTP_IF_MATCH=etag)
            case _:
                batch = {"user_groups": [body]}
                response = call_usergroups("POST", "users-batch", batch)
        assert response.status_code == 200
        return response.content

    return call


@pytest.mark.parametrize("properties", SAME_JSON.values(), ids=SAME_JSON)
def test_the_same_json_changes_nothing_and_keeps_its_text(put, properties):
    before = UserGroup.objects.values().get()

    with recorded() as sent:
        answer = put(properties=properties)

    assert UserGroup.objects.values().get() == before
    assert encode(STORED).encode() in answer
    assert sent == []


@pytest.mark.parametrize("properties", OTHER_JSON.values(), ids=OTHER_JSON)
def test_other_json_is_a_change(put, user_group, properties):
    put(properties=properties)

    group = UserGroup.objects.get()
    assert encode(group.properties) == encode(properties)
    assert group.updated_at > user_group.updated_at


@pytest.mark.parametrize("properties", SAME_JSON.values(), ids=SAME_JSON)
def test_another_field_is_changed_beside_the_same_json(put, user_group, properties):
    put(properties=properties, name="New")

    group = UserGroup.objects.get()
    # the stored text
    stored = UserGroup.objects.values_list("properties", flat=True).get()
    assert stored == encode(STORED)
    assert group.name == "New"
    assert group.updated_at > user_group.updated_at


def test_the_first_properties_are_a_change(put, user_group):
    UserGroup.objects.update(properties=None)

    put(properties=STORED)

    assert UserGroup.objects.get().updated_at > user_group.updated_at


@pytest.mark.parametrize("text", ["\0", r"\u0000"])
def test_text_that_jsonb_cannot_contain_can_be_replaced(put, text):
    """Only a host's own code can store U+0000."""
    UserGroup.objects.update(properties={"a": text, "b": 1})

    put(properties={"a": r"\u0000", "b": 2})

    assert UserGroup.objects.get().properties == {"a": r"\u0000", "b": 2}
