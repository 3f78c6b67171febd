"""The statements of each call.

With receivers of signals, some deletions take one more, to read the bookmarks.
"""

from types import SimpleNamespace

import pytest
from django.db import connection
from django.urls import reverse

from tests.bookmarks.factories import BookmarkFactory
from tests.conftest import Caller
from tests.queries import queries_of
from tests.signals import received

URL = "https://example.com/"


@pytest.fixture
def stored(user_group, collection, call_bookmarks, api_client, api_token):
    """Return the rows that the calls need, and functions that call the API
    with an access token or an API token.
    """

    def call_access_tokens(method, **fields):
        query = "" if fields else f"?user_group_id={user_group.provided_id}"
        return Caller(
            api_client,
            method,
            reverse("access_tokens:access-tokens") + query,
            "Token",
            api_token,
        )(fields)

    bookmarks = BookmarkFactory.create_batch(
        100, user_group=user_group, collection=collection
    )
    return SimpleNamespace(
        user_group=user_group,
        collection=collection,
        bookmark=bookmarks[0],
        ids=[str(bookmark.pk) for bookmark in bookmarks],
        call=call_bookmarks,
        call_access_tokens=call_access_tokens,
    )


CALLS = {
    "GET bookmark": (
        lambda stored: stored.call("GET", "bookmark", stored.bookmark.pk),
        ["token with its group", "bookmark"],
    ),
    "PATCH bookmark": (
        lambda stored: stored.call(
            "PATCH", "bookmark", stored.bookmark.pk, body={"title": "New"}
        ),
        ["token with its group", "update", "bookmark as it stands now"],
    ),
    "DELETE bookmark": (
        lambda stored: stored.call("DELETE", "bookmark", stored.bookmark.pk),
        ["token with its group", "deletion"],
    ),
    "GET bookmarks": (
        lambda stored: stored.call("GET", "bookmarks"),
        ["token with its group", "page"],
    ),
    "GET bookmarks by URL": (
        lambda stored: stored.call("GET", "bookmarks", query={"url": URL}),
        ["token with its group", "page"],
    ),
    "GET bookmarks by text": (
        lambda stored: stored.call("GET", "bookmarks", query={"q": "x"}),
        ["token with its group", "last bookmark to search", "page"],
    ),
    "POST bookmark": (
        lambda stored: stored.call("POST", "bookmarks", body={"url": URL}),
        ["token with its group", "insert"],
    ),
    "POST bookmark in a collection": (
        lambda stored: stored.call(
            "POST",
            "bookmarks",
            body={"url": URL, "collection": str(stored.collection.pk)},
        ),
        ["token with its group", "collection", "insert"],
    ),
    "POST bookmark in a malformed collection": (
        lambda stored: stored.call(
            "POST", "bookmarks", body={"url": URL, "collection": "x"}
        ),
        ["token with its group"],
    ),
    "POST duplicate": (
        lambda stored: stored.call(
            "POST",
            "bookmarks",
            body={"url": stored.bookmark.url, "collection": str(stored.collection.pk)},
        ),
        [
            "token with its group",
            "collection",
            "insert, which is refused",
            "existing bookmark",
        ],
    ),
    "POST batch": (
        lambda stored: stored.call(
            "POST",
            "bookmarks-batch",
            body={"bookmarks": [{"url": URL}, {"url": f"{URL}2"}]},
        ),
        [
            "token with its group",
            *(["insert"] if connection.vendor == "postgresql" else ["insert"] * 2),
        ],
    ),
    "POST batch to move": (
        lambda stored: stored.call(
            "POST",
            "bookmarks-batch-move",
            body={"ids": stored.ids, "collection": None},
        ),
        ["token with its group", "bookmarks", "duplicates", "update"],
    ),
    "POST batch to delete": (
        lambda stored: stored.call(
            "POST", "bookmarks-batch-delete", body={"ids": stored.ids}
        ),
        ["token with its group", "bookmarks", "deletion"],
    ),
    "GET collections": (
        lambda stored: stored.call("GET", "collections"),
        ["token with its group", "page"],
    ),
    "POST collection": (
        lambda stored: stored.call("POST", "collections", body={"name": "New"}),
        ["token with its group", "insert"],
    ),
    "DELETE collection": (
        lambda stored: stored.call("DELETE", "collection", stored.collection.pk),
        [
            "token with its group",
            "collection",
            "its group",
            "whether it has few bookmarks",
            "lock",
            "its group",
            "deletion of duplicates inside",
            "deletion of duplicates outside",
            "update of the bookmarks",
            "deletion",
        ],
    ),
    "delete a user group": (
        lambda stored: stored.user_group.delete(),
        [
            "lock",
            "group",
            "deletion of access tokens",
            "deletion of collections",
            "deletion of bookmarks",
            "deletion",
        ],
    ),
    "POST access token": (
        lambda stored: stored.call_access_tokens(
            "POST", user_group_id=stored.user_group.provided_id
        ),
        [
            "token with its team",
            "group",
            "active tokens that never expire",
            "active tokens that expire",
            "insert",
        ],
    ),
    "GET access tokens": (
        lambda stored: stored.call_access_tokens("GET"),
        ["token with its team", "group", "page"],
    ),
}
"""Each call with the names of its statements."""


@pytest.mark.parametrize(("call", "statements"), CALLS.values(), ids=CALLS)
def test_a_call_takes_these_statements(stored, call, statements):
    assert len(queries_of(call, stored)) == len(statements)


DELETIONS = {"DELETE bookmark", "DELETE collection", "POST batch to delete"}
"""The deletions that announce bookmarks.

The deletion of a user group announces only the user group.
"""


@pytest.mark.parametrize("name", CALLS)
def test_only_deletions_take_more_statements_with_receivers(stored, name):
    call, statements = CALLS[name]

    with received():
        queries = queries_of(call, stored)

    assert len(queries) == len(statements) + (name in DELETIONS)
