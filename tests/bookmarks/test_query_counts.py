"""The statements of each operation, and of calls that take others.

With receivers of signals, the deletion of a collection takes one more, to read
the bookmarks that it had.
"""

from types import SimpleNamespace

import pytest

from tests.bookmarks.factories import AccessTokenFactory, BookmarkFactory
from tests.operations import OPERATIONS, WRITES, caller
from tests.queries import queries_of
from tests.signals import received

URL = "https://example.com/"

OF_TEAM = "token"
OF_GROUP = "token with its group"

ROTATION = [
    "owner, locked",
    "token, locked",
    "active tokens that never expire",
    "active tokens that expire",
    "times of rotations in the last hour",
    "insert",
    "update",
]

DELETION = [
    "lock",
    "deletion of events",
    "record",
    "group",
    "deletion of access tokens",
    "deletion of collections",
    "deletion of bookmarks",
    "deletion of records of deletions",
    "deletion",
    "event",
]

DELETION_BY_ID = [
    "group",
    "whether it has few access tokens",
    "whether it has few collections",
    "whether it has few bookmarks",
    *DELETION,
]

ISSUE = [
    "groups",
    "groups, locked",
    "active tokens that never expire",
    "active tokens that expire",
    "insert",
]

REVOCATION = [
    "digests",
    "tokens, locked",
    "update",
    "event",
    "rotations",
    "active successors",
]

DELETION_OF_BOOKMARKS = ["bookmarks", "lock", "record", "deletion", "event"]

STATEMENTS = {
    "get_api_token": [OF_TEAM],
    "rotate_api_token": [OF_TEAM, *ROTATION, "event"],
    "get_user_group": [OF_TEAM, "group"],
    "create_user_group": [OF_TEAM, "group, of which there is none", "insert"],
    "update_user_group": [OF_TEAM, "update"],
    "delete_user_group": [OF_TEAM, *DELETION_BY_ID],
    "rotate_user_group_token": [OF_TEAM, "update", "event"],
    "list_user_groups": [OF_TEAM, "sizes", "page"],
    "list_user_group_deletions": [OF_TEAM, "page"],
    "put_user_groups": [OF_TEAM, "sizes", "groups", "insert", "inserted groups"],
    "delete_user_groups": [
        OF_TEAM,
        "ids that exist",
        "groups",
        "records of deletions, counted",
        "access tokens, counted",
        "collections, counted",
        "bookmarks, counted",
        *DELETION,
    ],
    "resolve_user_group": [OF_TEAM, "group"],
    "list_access_tokens": [OF_TEAM, "group", "page"],
    "issue_access_token": [OF_TEAM, *ISSUE],
    "revoke_access_token": [
        OF_TEAM,
        "access token",
        "key",
        "access token, locked",
        "update",
        "event",
        "rotations",
        "active successors",
    ],
    "issue_access_tokens": [OF_TEAM, *ISSUE],
    "revoke_access_tokens": [OF_TEAM, *REVOCATION],
    "list_team_access_tokens": [OF_TEAM, "page"],
    "get_access_token": [OF_GROUP],
    "rotate_access_token": [OF_GROUP, *ROTATION, "event"],
    "list_bookmarks": [OF_GROUP, "sizes, of which there are none"],
    "create_bookmark": [OF_GROUP, "collection", "insert"],
    "create_bookmarks": [OF_GROUP, "collections", "insert"],
    "delete_bookmarks": [OF_GROUP, *DELETION_OF_BOOKMARKS],
    "move_bookmarks": [OF_GROUP, "collection", "bookmarks", "duplicates", "update"],
    "lookup_bookmarks": [OF_GROUP, "bookmarks"],
    "get_bookmark": [OF_GROUP, "bookmark"],
    "update_bookmark": [OF_GROUP, "collection", "update"],
    "delete_bookmark": [OF_GROUP, "lock", "record", "deletion"],
    "list_collections": [OF_GROUP, "page"],
    "create_collection": [OF_GROUP, "insert"],
    "get_collection": [OF_GROUP, "collection"],
    "update_collection": [OF_GROUP, "update"],
    "delete_collection": [
        OF_GROUP,
        "collection",
        "its group",
        "whether it has few bookmarks",
        "lock",
        "its group",
        "URLs in it",
        "update of the bookmarks",
        "record",
        "event",
        "deletion",
    ],
    "list_tags": [OF_GROUP, "the last of some bookmarks", "their tags"],
    "rename_tag": [OF_GROUP, "bookmarks with the tag"],
    "list_deletions": [OF_GROUP, "page"],
    "import_bookmarks": [OF_GROUP, "insert", "event"],
    "export_bookmarks": [
        OF_GROUP,
        "bookmarks in no collection",
        "collections",
        "event",
    ],
}
"""The names of the statements of each operation, with its valid body."""


@pytest.mark.parametrize("name", OPERATIONS)
def test_an_operation_takes_these_statements(api_client, user_group, valid_body, name):
    call = caller(api_client, user_group, name)

    assert len(queries_of(call, valid_body)) == len(STATEMENTS[name])


@pytest.mark.parametrize("name", WRITES)
def test_only_the_deletion_of_a_collection_takes_more_statements_with_receivers(
    api_client, user_group, valid_body, name
):
    call = caller(api_client, user_group, name)

    with received():
        queries = queries_of(call, valid_body)

    assert len(queries) == len(STATEMENTS[name]) + (name == "delete_collection")


@pytest.fixture
def stored(user_group, collection, call_bookmarks, call_access_tokens):
    """Return the rows that the calls need, and functions that call the API
    with an access token and with an API token.
    """
    bookmarks = BookmarkFactory.create_batch(
        100, user_group=user_group, collection=collection
    )
    tokens = AccessTokenFactory.create_batch(10, user_group=user_group)
    return SimpleNamespace(
        user_group=user_group,
        collection=collection,
        urls=[bookmark.url for bookmark in bookmarks],
        ids=[str(bookmark.pk) for bookmark in bookmarks],
        token_ids=[token.public_id for token in tokens],
        call=call_bookmarks,
        call_access_tokens=call_access_tokens,
    )


def items_of(stored, **fields):
    """Return an item of a batch for each of the bookmarks."""
    place = {"collection": str(stored.collection.pk)}
    return [{"url": url, **place, **fields} for url in stored.urls]


CALLS = {
    "GET bookmarks by URL": (
        lambda stored: stored.call("GET", "bookmarks", query={"url": URL}),
        [OF_GROUP, "sizes, of which there are none"],
    ),
    "GET bookmarks by time of change": (
        lambda stored: stored.call(
            "GET", "bookmarks", query={"updated_since": "2026-01-01T00:00:00Z"}
        ),
        [OF_GROUP, "sizes", "page"],
    ),
    "GET bookmarks by text": (
        lambda stored: stored.call("GET", "bookmarks", query={"q": "x"}),
        [OF_GROUP, "last bookmark to search", "page"],
    ),
    "POST bookmark in a malformed collection": (
        lambda stored: stored.call(
            "POST", "bookmarks", body={"url": URL, "collection": "x"}
        ),
        [OF_GROUP],
    ),
    "POST duplicate": (
        lambda stored: stored.call("POST", "bookmarks", body=items_of(stored)[0]),
        [OF_GROUP, "collection", "insert, which inserts nothing", "existing bookmark"],
    ),
    "POST batch that updates": (
        lambda stored: stored.call(
            "POST",
            "bookmarks-batch",
            body={"bookmarks": items_of(stored, title="New"), "update": True},
        ),
        [OF_GROUP, "collection", "insert", "existing bookmarks, locked", "update"],
    ),
    "POST batch that updates nothing": (
        lambda stored: stored.call(
            "POST",
            "bookmarks-batch",
            body={"bookmarks": items_of(stored, title=""), "update": True},
        ),
        [OF_GROUP, "collection", "insert", "existing bookmarks, locked"],
    ),
    "POST rotation without a grace period": (
        lambda stored: stored.call("POST", "token-rotate", body={}),
        [
            OF_GROUP,
            *(name for name in ROTATION if not name.startswith("active tokens")),
            "event",
        ],
    ),
    "GET access tokens by expiry": (
        lambda stored: stored.call_access_tokens(
            "GET",
            "team-access-tokens",
            query={"expires_before": "2100-01-01T00:00:00Z"},
        ),
        [OF_TEAM, "last token to search", "page"],
    ),
    # Many items take as many statements as one.
    "POST lookup": (
        lambda stored: stored.call(
            "POST", "bookmarks-lookup", body={"urls": stored.urls}
        ),
        STATEMENTS["lookup_bookmarks"],
    ),
    "POST batch of access tokens": (
        lambda stored: stored.call_access_tokens(
            "POST",
            "access-tokens-batch",
            body={"user_group_ids": [stored.user_group.provided_id] * 10},
        ),
        STATEMENTS["issue_access_tokens"],
    ),
    "POST batch of revocations": (
        lambda stored: stored.call_access_tokens(
            "POST", "access-tokens-batch-revoke", body={"ids": stored.token_ids}
        ),
        STATEMENTS["revoke_access_tokens"],
    ),
    "POST batch to move": (
        lambda stored: stored.call(
            "POST", "bookmarks-batch-move", body={"ids": stored.ids, "collection": None}
        ),
        [OF_GROUP, "bookmarks", "duplicates", "update"],
    ),
    "POST batch to delete": (
        lambda stored: stored.call(
            "POST", "bookmarks-batch-delete", body={"ids": stored.ids}
        ),
        STATEMENTS["delete_bookmarks"],
    ),
    "DELETE collection": (
        lambda stored: stored.call("DELETE", "collection", stored.collection.pk),
        [*STATEMENTS["delete_collection"], "repeated URLs"],
    ),
    "delete a user group": (lambda stored: stored.user_group.delete(), DELETION),
}
"""Each call with the names of its statements."""


@pytest.mark.parametrize(("call", "statements"), CALLS.values(), ids=CALLS)
def test_a_call_takes_these_statements(stored, call, statements):
    assert len(queries_of(call, stored)) == len(statements)
