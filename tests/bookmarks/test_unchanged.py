"""Writing the values that a row already has changes nothing."""

import pytest

from bookmarks.models import Bookmark, Collection
from tests.bookmarks.factories import BookmarkFactory
from tests.signals import recorded
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

    def call(operation, **values):
        group = {"user_group_id": user_group.provided_id}
        stored = {
            "url": bookmark.url,
            "title": bookmark.title,
            "tags": bookmark.tags,
            "note": bookmark.note,
            "collection": str(collection.pk),
        }
        match operation:
            case "PUT":
                return call_usergroups("PUT", "user", {**group, **(values or FIELDS)})
            case "batch of user groups":
                return call_usergroups(
                    "POST",
                    "users-batch",
                    {"user_groups": [{**group, **(values or FIELDS)}]},
                )
            case "PATCH bookmark":
                return call_bookmarks(
                    "PATCH", "bookmark", bookmark.pk, body=values or stored
                )
            case "PATCH collection":
                return call_bookmarks(
                    "PATCH",
                    "collection",
                    collection.pk,
                    body=values or {"name": collection.name},
                )
            case _:  # "move"
                body = {
                    "ids": [str(bookmark.pk)],
                    **(values or {"collection": str(collection.pk)}),
                }
                return call_bookmarks("POST", "bookmarks-batch-move", body=body)

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
        {"properties": {"b": 2, "a": [1, None]}},
    ],
    "batch of user groups": [
        {"name": "B"},
        {"mapping": {"1": 1}},
        {"properties": {"a": [1.0, None], "b": 2}},
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
"""Changes by operation.

The same JSON with its keys in another order, or with 1.0 instead of 1, is
another value.
"""


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
