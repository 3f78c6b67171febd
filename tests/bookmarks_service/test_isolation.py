"""A call for an object of another owner is answered as if the object did not
exist, and does not change it.
"""

from uuid import UUID

import pytest

from bookmarks.models import AccessToken, Bookmark, Collection
from tests.bookmarks.factories import AccessTokenFactory
from tests.conftest import Caller, comparable
from tests.operations import (
    ACCESS_TOKEN,
    BOOKMARK,
    COLLECTION,
    OPERATIONS,
    SINCE,
    USER_GROUP,
    USER_GROUP_TOKEN,
    resolved,
)
from tests.usergroups.factories import ApiTokenFactory, UserGroupFactory
from usergroups.models import UserGroup
from usergroups.tokens import secret_format

pytestmark = pytest.mark.database_independent

OTHER_OWNERS = {
    "another team": lambda group: UserGroupFactory(provided_id="theirs"),
    "another environment": lambda group: UserGroupFactory(
        provided_id="theirs", team=group.team, environment="Testing"
    ),
    "another user group": lambda group: UserGroupFactory(
        provided_id="theirs", team=group.team
    ),
}

# The operations on user groups are for the whole team.
OWNERS = {
    "Token": ["another team", "another environment"],
    "Bearer": ["another team", "another user group"],
}

UNKNOWN = {
    USER_GROUP: "unknown",
    USER_GROUP_TOKEN: secret_format.generate("ugt"),
    ACCESS_TOKEN: "0" * 64,
    BOOKMARK: str(UUID(int=1)),
    COLLECTION: str(UUID(int=1)),
}

CALLS = [
    pytest.param(name, kind, owner, id=f"{name}, {kind} of {owner}")
    for name, operation in OPERATIONS.items()
    for kind in operation.objects
    if kind is not SINCE
    for owner in OWNERS[operation.scheme]
]
"""Each operation with each object that its request names."""


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


def token_of(user_group, operation):
    if operation.scheme == "Token":
        return ApiTokenFactory(team=user_group.team, recently_used=True)
    return AccessTokenFactory(user_group=user_group, recently_used=True)


def answer(client, operation, token, objects, value):
    """Call an operation with these objects, and return the comparable answer,
    without ``value``.
    """
    path = operation.path(objects.get)
    request = [{**operation.query, **operation.filters}, operation.body]
    query, body = resolved(request, objects.get)
    content = operation.file.encode() if operation.file else body or b""
    call = Caller(client, operation.method, path, operation.scheme, token)
    status, content, headers = comparable(call(content, query=query))
    return status, content.replace(value.encode(), b""), headers


def get(client, authorization, path):
    """Return the JSON of the answer to a GET call."""
    return client.get(path, headers={"Authorization": authorization}).json()


@pytest.mark.parametrize(("name", "kind", "owner"), CALLS)
def test_an_object_of_another_owner_does_not_exist(
    client, user_group, name, kind, owner
):
    operation = OPERATIONS[name]
    theirs = kind.create(OTHER_OWNERS[owner](user_group))
    own = {each: each.create(user_group) for each in operation.objects}
    token = token_of(user_group, operation)
    before = stored()

    for_theirs, for_unknown = (
        answer(client, operation, token, {**own, kind: value}, value)
        for value in (theirs, UNKNOWN[kind])
    )

    assert for_theirs == for_unknown
    assert stored() == before


@pytest.mark.parametrize("owner", OWNERS["Token"])
def test_lists_have_only_the_objects_of_the_owner(client, user_group, owner):
    other = OTHER_OWNERS[owner](user_group)
    BOOKMARK.create(other)
    COLLECTION.create(other)
    bookmark = BOOKMARK.create(user_group)
    collection = COLLECTION.create(user_group)
    api = f"Token {ApiTokenFactory(team=user_group.team).secret}"
    bearer = f"Bearer {AccessTokenFactory(user_group=user_group).secret}"

    groups = get(client, api, "/api/users")["user_groups"]
    bookmarks = get(client, bearer, "/v1/bookmarks")["bookmarks"]
    collections = get(client, bearer, "/v1/collections")["collections"]

    assert [group["provided_id"] for group in groups] == [user_group.provided_id]
    assert [each["id"] for each in bookmarks] == [bookmark]
    assert [each["id"] for each in collections] == [collection]
