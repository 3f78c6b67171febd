from typing import NamedTuple

import pytest
from django.http import HttpResponse
from django.urls import reverse

from tests.bookmarks.factories import (
    AccessTokenFactory,
    BookmarkFactory,
    CollectionFactory,
)
from tests.conftest import Caller
from tests.usergroups.factories import ApiTokenFactory

MIB = 1024 * 1024


class Operation(NamedTuple):
    method: str
    url_name: str
    has_body: bool = False
    """Whether it takes a JSON object as body.

    The body of ``import_bookmarks`` is a file.
    """
    object_in_path: str | None = None
    """The kind of object whose id is in the path."""
    has_group_in_query: bool = False
    """Whether the query string names the user group."""
    max_body_size: int = MIB
    is_read: bool = False
    """Whether a read-only token may call it, although its method is not safe.
    """
    returns_file: bool = False
    """Whether a successful answer is a file instead of JSON."""


OPERATIONS = {
    "get_user_group": Operation("GET", "usergroups:user", has_group_in_query=True),
    "create_user_group": Operation("POST", "usergroups:user", has_body=True),
    "update_user_group": Operation("PUT", "usergroups:user", has_body=True),
    "delete_user_group": Operation(
        "DELETE", "usergroups:user", has_group_in_query=True
    ),
    "rotate_user_group_token": Operation(
        "POST", "usergroups:user-token", has_body=True
    ),
    "list_user_groups": Operation("GET", "usergroups:users"),
    "put_user_groups": Operation(
        "POST", "usergroups:users-batch", has_body=True, max_body_size=8 * MIB
    ),
    "resolve_user_group": Operation(
        "POST", "usergroups:user-resolve", has_body=True, is_read=True
    ),
    "list_access_tokens": Operation(
        "GET", "access_tokens:access-tokens", has_group_in_query=True
    ),
    "issue_access_token": Operation(
        "POST", "access_tokens:access-tokens", has_body=True
    ),
    "revoke_access_token": Operation(
        "DELETE", "access_tokens:access-token", object_in_path="access token"
    ),
    "list_bookmarks": Operation("GET", "bookmarks:bookmarks"),
    "create_bookmark": Operation("POST", "bookmarks:bookmarks", has_body=True),
    "create_bookmarks": Operation(
        "POST", "bookmarks:bookmarks-batch", has_body=True, max_body_size=8 * MIB
    ),
    "delete_bookmarks": Operation(
        "POST", "bookmarks:bookmarks-batch-delete", has_body=True
    ),
    "move_bookmarks": Operation(
        "POST", "bookmarks:bookmarks-batch-move", has_body=True
    ),
    "get_bookmark": Operation("GET", "bookmarks:bookmark", object_in_path="bookmark"),
    "update_bookmark": Operation(
        "PATCH", "bookmarks:bookmark", has_body=True, object_in_path="bookmark"
    ),
    "delete_bookmark": Operation(
        "DELETE", "bookmarks:bookmark", object_in_path="bookmark"
    ),
    "list_collections": Operation("GET", "bookmarks:collections"),
    "create_collection": Operation("POST", "bookmarks:collections", has_body=True),
    "get_collection": Operation(
        "GET", "bookmarks:collection", object_in_path="collection"
    ),
    "update_collection": Operation(
        "PATCH", "bookmarks:collection", has_body=True, object_in_path="collection"
    ),
    "delete_collection": Operation(
        "DELETE", "bookmarks:collection", object_in_path="collection"
    ),
    "import_bookmarks": Operation("POST", "bookmarks:imports"),
    "export_bookmarks": Operation("GET", "bookmarks:export", returns_file=True),
}


WITH_A_BODY = [name for name, operation in OPERATIONS.items() if operation.has_body]
READS = [
    name
    for name, operation in OPERATIONS.items()
    if operation.method == "GET" or operation.is_read
]
WRITES = [name for name in OPERATIONS if name not in READS]
BATCHES = [
    name for name, operation in OPERATIONS.items() if operation.max_body_size > MIB
]
SINGLE_CALLS = [name for name in WITH_A_BODY if name not in BATCHES]
ANSWERED_IN_JSON = [
    name for name, operation in OPERATIONS.items() if not operation.returns_file
]
ONE_OF_EACH_SCHEME = ["update_user_group", "create_bookmark"]
"""One operation for each authentication scheme: ``Token`` and ``Bearer``."""
WRITES_WITH_A_BODY = [name for name in WITH_A_BODY if name not in READS]


class DownloadingCaller(Caller):
    """A caller that reads streamed answers completely."""

    def __call__(self, *args, **extra):
        answer = super().__call__(*args, **extra)
        if not answer.streaming:
            return answer
        return HttpResponse(
            answer.getvalue(), status=answer.status_code, headers=answer.headers
        )


def caller(client, user_group, name):
    """Return a function, with the attribute ``operation``, that calls this
    operation with a valid token.
    """
    operation = OPERATIONS[name]
    if operation.url_name.startswith(("usergroups:", "access_tokens:")):
        scheme, token = (
            "Token",
            ApiTokenFactory(team=user_group.team, recently_used=True),
        )
    else:
        scheme, token = (
            "Bearer",
            AccessTokenFactory(user_group=user_group, recently_used=True),
        )
    create_ids = {
        None: lambda: [],
        "bookmark": lambda: [BookmarkFactory(user_group=user_group).pk],
        "collection": lambda: [CollectionFactory(user_group=user_group).pk],
        "access token": lambda: [AccessTokenFactory(user_group=user_group).public_id],
    }
    url = reverse(operation.url_name, args=create_ids[operation.object_in_path]())
    if operation.has_group_in_query:
        url += f"?user_group_id={user_group.provided_id}"
    call = DownloadingCaller(client, operation.method, url, scheme, token)
    call.operation = operation
    return call


@pytest.fixture(params=WITH_A_BODY)
def operation(request, client, user_group):
    """Return a function that calls an operation.

    The test runs for each operation with a body.
    """
    return caller(client, user_group, request.param)


@pytest.fixture(params=OPERATIONS)
def any_operation(request, client, user_group):
    """Return a function that calls an operation.

    The test runs for each operation.
    """
    return caller(client, user_group, request.param)


@pytest.fixture
def valid_body(user_group):
    """Return a body that every operation accepts, because unknown fields are
    ignored.
    """
    return {
        "user_group_id": user_group.provided_id,
        "name": "A name",
        "url": "https://example.com/",
        "user_groups": [],
        "bookmarks": [],
        "ids": [],
        "collection": None,
        "token": user_group.token,
    }
