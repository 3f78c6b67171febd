"""A cursor belongs to its list, order and filters, and has one spelling."""

from datetime import UTC, datetime
from urllib.parse import parse_qs, urlsplit

import pytest
from django.core import signing

from tests.answers import errors
from tests.bookmarks.factories import (
    AccessTokenFactory,
    BookmarkFactory,
    CollectionFactory,
    DeletionFactory,
)
from tests.cursors import cursor_text
from tests.operations import OPERATIONS, caller
from tests.usergroups.factories import UserGroupFactory
from usergroups.deleted_user_groups import UserGroupDeletion

TIME = "2026-01-01T00:00:00+00:00"
ID = "01930e7a-5b5c-7c42-9f8e-3a1d5b0c7e21"
DIGEST = "ab" * 32
KEYS = {
    "list_user_groups": "example",
    "list_user_group_deletions": ID,
    "list_access_tokens": bytes.fromhex(DIGEST),
    "list_team_access_tokens": bytes.fromhex(DIGEST),
    "list_bookmarks": ID,
    "list_collections": ID,
    "list_deletions": ID,
}
"""A key for the cursor of each list."""

REFUSED = [("cursor", "invalid")]


@pytest.fixture(autouse=True)
def long_retention(settings):
    """List deletions since any time in these tests."""
    settings.USERGROUPS_DELETION_RETENTION_DAYS = 36_500


@pytest.fixture
def call_list(api_client, user_group):
    """Return a function that calls the list of this name."""
    user_group.provided_id = "example"
    user_group.save()
    calls = {name: caller(api_client, user_group, name) for name in KEYS}
    return lambda name, query: calls[name](query=query)


@pytest.fixture
def cursor_of(user_group):
    """Return a function that returns a cursor of the list of this name with
    these parameters.
    """
    time = datetime(2026, 1, 1, tzinfo=UTC)
    return lambda name, query: cursor_text(
        OPERATIONS[name].url_name, user_group, query, time, KEYS[name]
    )


# Another list

REQUIRED = {
    "list_user_group_deletions": {"since": "2000-01-01T00:00:00Z"},
    "list_access_tokens": {"user_group_id": "example"},
    "list_deletions": {"since": "2000-01-01T00:00:00Z"},
}
"""The parameters that a list requires."""


@pytest.fixture
def cursors(call_list, user_group):
    """Return the cursor of the second page of each list."""
    UserGroupFactory.create_batch(2, team=user_group.team)
    AccessTokenFactory.create_batch(2, user_group=user_group)
    BookmarkFactory.create_batch(2, user_group=user_group)
    CollectionFactory.create_batch(2, user_group=user_group)
    time = datetime(2026, 1, 1, tzinfo=UTC)
    DeletionFactory.create_batch(2, user_group=user_group, deleted_at=time)
    for provided_id in ("one", "two"):
        UserGroupDeletion.objects.create(
            **user_group.scope, provided_id=provided_id, deleted_at=time
        )
    cursors = {}
    for name in KEYS:
        page = call_list(name, {**REQUIRED.get(name, {}), "limit": 1}).json()
        cursors[name] = page["next_cursor"]
        assert parse_qs(urlsplit(page["next"]).query)["cursor"] == [cursors[name]]
    return cursors


@pytest.mark.parametrize("name", KEYS)
def test_a_list_refuses_the_cursors_of_all_other_lists(call_list, cursors, name):
    required = REQUIRED.get(name, {})
    own = cursors.pop(name)

    assert call_list(name, {**required, "cursor": own}).status_code == 200
    refused = {
        other: errors(call_list(name, {**required, "cursor": cursor}))
        for other, cursor in cursors.items()
    }
    assert refused == dict.fromkeys(KEYS.keys() - {name}, REFUSED)


@pytest.mark.parametrize("name", KEYS)
def test_a_cursor_of_another_owner_is_refused(api_client, cursors, name):
    other = UserGroupFactory(provided_id="example")

    response = caller(api_client, other, name)(
        query={**REQUIRED.get(name, {}), "cursor": cursors[name]}
    )

    assert errors(response) == REFUSED


# Another order or filter

SINCE = "2026-01-01T00:00:00Z"
LATER = "2026-01-02T00:00:00Z"


@pytest.mark.parametrize(
    ("name", "query", "other"),
    [
        *[
            pytest.param(
                name,
                REQUIRED.get(name, {}),
                {**REQUIRED.get(name, {}), "order": "oldest"},
                id=f"{name} order",
            )
            for name in KEYS
        ],
        ("list_bookmarks", {"order": "oldest"}, {}),
        ("list_user_groups", {"name": "Group"}, {"name": "group"}),
        ("list_bookmarks", {"collection": ""}, {}),
        ("list_bookmarks", {}, {"url": "https://example.com/"}),
        ("list_bookmarks", {"created_since": SINCE}, {"updated_since": SINCE}),
        ("list_bookmarks", {"q": "a", "tag": ["b"]}, {"q": "b", "tag": ["a"]}),
        ("list_bookmarks", {"q": "a"}, {}),
        ("list_bookmarks", {"tag": ["a"]}, {"tag": ["a", "b"]}),
        ("list_deletions", {"since": SINCE}, {"since": LATER}),
    ],
)
def test_a_cursor_of_another_order_or_filter_is_refused(
    call_list, cursor_of, name, query, other
):
    cursor = cursor_of(name, query)

    assert call_list(name, {**query, "cursor": cursor}).status_code == 200
    assert errors(call_list(name, {**other, "cursor": cursor})) == REFUSED


@pytest.mark.parametrize(
    ("query", "same"),
    [
        pytest.param({"limit": 1}, {"limit": 2}, id="another limit"),
        pytest.param({}, {"order": "newest"}, id="default"),
        pytest.param(
            {"q": "a", "created_since": SINCE},
            {"created_since": SINCE, "q": "a"},
            id="order of parameters",
        ),
        pytest.param({"tag": ["a", "b"]}, {"tag": ["b", "a"]}, id="order of tags"),
        pytest.param(
            {"updated_since": SINCE},
            {"updated_since": "2026-01-01T01:00:00+01:00"},
            id="another offset",
        ),
    ],
)
def test_a_cursor_of_the_same_order_and_filters_is_accepted(
    call_list, cursor_of, query, same
):
    cursor = cursor_of("list_bookmarks", query)

    for parameters in (query, same):
        response = call_list("list_bookmarks", {**parameters, "cursor": cursor})
        assert response.status_code == 200


# Invalid cursors


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param(lambda text: "x", id="no signature"),
        pytest.param(lambda text: "\N{GRINNING FACE}", id="not ASCII"),
        pytest.param(lambda text: f"{text}=", id="padding"),
        pytest.param(lambda text: f" {text}", id="space before"),
        pytest.param(lambda text: f"{text}\n", id="line break after"),
        pytest.param(lambda text: f"{text[:8]}!{text[8:]}", id="character inside"),
        pytest.param(str.swapcase, id="other letter case"),
        pytest.param(lambda text: signing.dumps(TIME), id="signed for another use"),
    ],
)
def test_a_changed_cursor_is_refused(call_list, cursor_of, changed):
    cursor = cursor_of("list_user_groups", {})

    assert call_list("list_user_groups", {"cursor": cursor}).status_code == 200
    refused = call_list("list_user_groups", {"cursor": changed(cursor)})
    assert errors(refused) == REFUSED
