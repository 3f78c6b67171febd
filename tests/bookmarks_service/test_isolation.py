"""A call for an object of another owner is answered as if the object did not
exist, and does not change it.
"""

import json
from uuid import uuid4

import pytest
from django.urls import resolve

from bookmarks.models import AccessToken, Bookmark, Collection
from tests.bookmarks.factories import (
    AccessTokenFactory,
    BookmarkFactory,
    CollectionFactory,
)
from tests.conftest import comparable
from tests.operations import OPERATIONS
from tests.usergroups.factories import ApiTokenFactory, UserGroupFactory
from usergroups.models import UserGroup
from usergroups.tokens import secret_format

pytestmark = pytest.mark.database_independent

OTHER_OWNERS = {
    "another team": lambda group: UserGroupFactory(provided_id="theirs"),
    "another environment": lambda group: UserGroupFactory(
        provided_id="theirs", team=group.team, environment="Testing"
    ),
}

USER_GROUP_CALLS = [
    ("GET", "/api/user?user_group_id={user_group}", {}),
    ("PUT", "/api/user", {"user_group_id": "{user_group}", "name": "Taken"}),
    ("DELETE", "/api/user?user_group_id={user_group}", {}),
    ("POST", "/api/user/token", {"user_group_id": "{user_group}"}),
    ("POST", "/api/user/resolve", {"token": "{user_group_token}"}),
    ("POST", "/api/user/access-tokens", {"user_group_id": "{user_group}"}),
    ("GET", "/api/user/access-tokens?user_group_id={user_group}", {}),
    ("DELETE", "/api/user/access-tokens/{access_token}", {}),
]

BOOKMARK_CALLS = [
    ("GET", "/v1/bookmarks/{bookmark}", {}),
    ("PATCH", "/v1/bookmarks/{bookmark}", {"title": "Taken"}),
    ("DELETE", "/v1/bookmarks/{bookmark}", {}),
    ("GET", "/v1/bookmarks?collection={collection}", {}),
    (
        "POST",
        "/v1/bookmarks",
        {"url": "https://example.com/taken", "collection": "{collection}"},
    ),
    (
        "POST",
        "/v1/bookmarks/batch",
        {"bookmarks": [{"url": "https://example.com/", "collection": "{collection}"}]},
    ),
    ("POST", "/v1/bookmarks/batch/delete", {"ids": ["{bookmark}"]}),
    ("POST", "/v1/bookmarks/batch/move", {"ids": ["{bookmark}"], "collection": None}),
    ("POST", "/v1/bookmarks/batch/move", {"ids": [], "collection": "{collection}"}),
    ("PATCH", "/v1/bookmarks/{own_bookmark}", {"collection": "{collection}"}),
    ("GET", "/v1/collections/{collection}", {}),
    ("PATCH", "/v1/collections/{collection}", {"name": "Taken"}),
    ("DELETE", "/v1/collections/{collection}", {}),
    (
        "POST",
        "/v1/imports?format=jsonl&collection={collection}",
        {"url": "https://example.com/taken"},
    ),
    ("GET", "/v1/export?collection={collection}", {}),
]

UNKNOWN = {
    "user_group": "unknown",
    "user_group_token": secret_format.generate("ugt"),
    "access_token": "unknown",
    "bookmark": uuid4(),
    "collection": uuid4(),
}


def objects_of(user_group):
    """Create an object of each kind, and return the values that stand for them
    in calls.
    """
    return {
        "user_group": user_group.provided_id,
        "user_group_token": user_group.token,
        "access_token": AccessTokenFactory(user_group=user_group).public_id,
        "bookmark": BookmarkFactory(user_group=user_group).pk,
        "collection": CollectionFactory(user_group=user_group).pk,
    }


def stored():
    """Return the values of all rows.

    Those of tokens do not include their last use.
    """
    models = [
        UserGroup.objects.order_by("pk"),
        Bookmark.objects.order_by("pk"),
        Collection.objects.order_by("pk"),
    ]
    tokens = AccessToken.objects.order_by("pk").values("pk", "revoked_at")
    return [list(rows) for rows in (*(each.values() for each in models), tokens)]


def answer(client, authorization, call, names):
    """Make a call, after each of the ``names`` in braces is replaced by its
    value.
    """
    method, path, body = call
    text = json.dumps(body)
    for name, value in names.items():
        placeholder = f"{{{name}}}"
        path = path.replace(placeholder, str(value))
        text = text.replace(placeholder, str(value))
    headers = {"Authorization": authorization}
    return client.generic(method, path, text, "application/json", headers=headers)


def get(client, authorization, path):
    """Return the JSON of the answer to a GET call."""
    return client.get(path, headers={"Authorization": authorization}).json()


@pytest.mark.parametrize("owner", OTHER_OWNERS)
@pytest.mark.parametrize(
    "call", USER_GROUP_CALLS, ids=lambda call: f"{call[0]} {call[1]}"
)
def test_user_groups_of_another_owner_do_not_exist(client, user_group, owner, call):
    theirs = objects_of(OTHER_OWNERS[owner](user_group))
    token = ApiTokenFactory(team=user_group.team, recently_used=True)
    authorization = f"Token {token.secret}"
    before = stored()

    for_theirs = answer(client, authorization, call, theirs)
    for_unknown = answer(client, authorization, call, UNKNOWN)

    assert for_theirs.status_code == 404
    assert comparable(for_theirs) == comparable(for_unknown)
    assert stored() == before


@pytest.mark.parametrize(
    "call", BOOKMARK_CALLS, ids=lambda call: f"{call[0]} {call[1]}"
)
def test_bookmarks_and_collections_of_another_owner_do_not_exist(
    client, user_group, call
):
    theirs = objects_of(UserGroupFactory(team=user_group.team))
    own = {"own_bookmark": BookmarkFactory(user_group=user_group).pk}
    token = AccessTokenFactory(user_group=user_group, recently_used=True)
    authorization = f"Bearer {token.secret}"
    before = stored()

    for_theirs = answer(client, authorization, call, {**own, **theirs})
    for_unknown = answer(client, authorization, call, {**own, **UNKNOWN})

    assert (for_theirs.status_code, for_theirs.content) == (
        for_unknown.status_code,
        for_unknown.content,
    )
    assert stored() == before


@pytest.mark.parametrize("owner", OTHER_OWNERS)
def test_lists_have_only_the_objects_of_the_owner(client, user_group, owner):
    objects_of(OTHER_OWNERS[owner](user_group))
    own = objects_of(user_group)
    api = f"Token {ApiTokenFactory(team=user_group.team).secret}"
    bearer = f"Bearer {AccessTokenFactory(user_group=user_group).secret}"

    groups = get(client, api, "/api/users")["user_groups"]
    bookmarks = get(client, bearer, "/v1/bookmarks")["bookmarks"]
    collections = get(client, bearer, "/v1/collections")["collections"]

    assert [group["provided_id"] for group in groups] == [user_group.provided_id]
    assert [bookmark["id"] for bookmark in bookmarks] == [str(own["bookmark"])]
    assert [collection["id"] for collection in collections] == [str(own["collection"])]


def test_a_cursor_of_another_owner_shows_only_own_objects(client, user_group):
    theirs = UserGroupFactory.create_batch(3, team=UserGroupFactory().team)
    their_token = ApiTokenFactory(team=theirs[0].team).secret
    own_token = ApiTokenFactory(team=user_group.team).secret
    link = get(client, f"Token {their_token}", "/api/users?limit=1")["next"]

    groups = get(client, f"Token {own_token}", link)["user_groups"]

    assert {group["provided_id"] for group in groups} <= {user_group.provided_id}


def test_the_calls_cover_all_operations_on_an_object():
    called = {
        (method, resolve(path.partition("?")[0]).view_name)
        for method, path, _ in USER_GROUP_CALLS + BOOKMARK_CALLS
    }
    operations = {
        (operation.method, operation.url_name)
        for operation in OPERATIONS.values()
        if operation.needs_object
    }

    assert called >= operations
