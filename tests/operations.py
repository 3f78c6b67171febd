"""The operations of the API, and how the tests call them.

This is the only list of all operations. Tests that run for several of them
select these by their attributes.
"""

from collections.abc import Mapping
from typing import NamedTuple

from django.http import HttpResponse
from django.urls import resolve, reverse

from tests.bookmarks.factories import (
    AccessTokenFactory,
    BookmarkFactory,
    CollectionFactory,
)
from tests.conftest import Caller
from tests.usergroups.factories import ApiTokenFactory

MIB = 1024 * 1024
# Deletions are not listed since a time that is too long ago.
SINCE = {"since": "2999-12-31T00:00:00Z"}


class Operation(NamedTuple):
    method: str
    url_name: str
    has_body: bool = False
    """Whether it takes a JSON object as body.

    The body of ``import_bookmarks`` is a file.
    """
    object_in_path: str | None = None
    """The kind of object whose id is in the path."""
    user_group_in: str | None = None
    """Where the request names the user group, which must exist: in the "query"
    or in the "body".
    """
    query: Mapping[str, str] = {}
    """The query parameters that it requires, besides the user group."""
    returns: str | None = None
    """The kind of the one object in the answer, whose ETag the answer has."""
    takes_if_match: bool = False
    is_costly: bool = False
    """Whether all calls are costly, not only those with a large body."""
    max_body_size: int = MIB
    is_read: bool = False
    """Whether a read-only token may call it, although its method is not safe.
    """
    returns_file: bool = False
    """Whether a successful answer is a file instead of JSON."""

    @property
    def needs_object(self) -> bool:
        """Whether the answer is 404 if the object in the request does not
        exist.
        """
        return bool(self.object_in_path or self.user_group_in)

    @property
    def scheme(self) -> str:
        if self.url_name.startswith("bookmarks:"):
            return "Bearer"
        return "Token"


OPERATIONS = {
    "get_api_token": Operation("GET", "usergroups:token"),
    "rotate_api_token": Operation("POST", "usergroups:token-rotate", has_body=True),
    "get_user_group": Operation(
        "GET", "usergroups:user", user_group_in="query", returns="user group"
    ),
    "create_user_group": Operation(
        "POST", "usergroups:user", has_body=True, returns="user group"
    ),
    "update_user_group": Operation(
        "PUT",
        "usergroups:user",
        has_body=True,
        user_group_in="body",
        returns="user group",
        takes_if_match=True,
    ),
    "delete_user_group": Operation(
        "DELETE", "usergroups:user", user_group_in="query", takes_if_match=True
    ),
    "rotate_user_group_token": Operation(
        "POST",
        "usergroups:user-token",
        has_body=True,
        user_group_in="body",
        returns="user group",
    ),
    "list_user_groups": Operation("GET", "usergroups:users", is_costly=True),
    "list_user_group_deletions": Operation(
        "GET", "usergroups:users-deletions", query=SINCE
    ),
    "put_user_groups": Operation(
        "POST",
        "usergroups:users-batch",
        has_body=True,
        max_body_size=8 * MIB,
        is_costly=True,
    ),
    "delete_user_groups": Operation(
        "POST", "usergroups:users-batch-delete", has_body=True, is_costly=True
    ),
    "resolve_user_group": Operation(
        "POST",
        "usergroups:user-resolve",
        has_body=True,
        is_read=True,
        user_group_in="body",
        returns="user group",
    ),
    "list_access_tokens": Operation(
        "GET", "access_tokens:access-tokens", user_group_in="query"
    ),
    "issue_access_token": Operation(
        "POST", "access_tokens:access-tokens", has_body=True, user_group_in="body"
    ),
    "revoke_access_token": Operation(
        "DELETE", "access_tokens:access-token", object_in_path="access token"
    ),
    "issue_access_tokens": Operation(
        "POST", "access_tokens:access-tokens-batch", has_body=True, is_costly=True
    ),
    "revoke_access_tokens": Operation(
        "POST",
        "access_tokens:access-tokens-batch-revoke",
        has_body=True,
        is_costly=True,
    ),
    "list_team_access_tokens": Operation("GET", "access_tokens:team-access-tokens"),
    "get_access_token": Operation("GET", "bookmarks:token"),
    "rotate_access_token": Operation("POST", "bookmarks:token-rotate", has_body=True),
    "list_bookmarks": Operation("GET", "bookmarks:bookmarks"),
    "create_bookmark": Operation(
        "POST", "bookmarks:bookmarks", has_body=True, returns="bookmark"
    ),
    "create_bookmarks": Operation(
        "POST",
        "bookmarks:bookmarks-batch",
        has_body=True,
        max_body_size=8 * MIB,
        is_costly=True,
    ),
    "delete_bookmarks": Operation(
        "POST", "bookmarks:bookmarks-batch-delete", has_body=True, is_costly=True
    ),
    "move_bookmarks": Operation(
        "POST", "bookmarks:bookmarks-batch-move", has_body=True, is_costly=True
    ),
    "lookup_bookmarks": Operation(
        "POST",
        "bookmarks:bookmarks-lookup",
        has_body=True,
        is_read=True,
        max_body_size=8 * MIB,
        is_costly=True,
    ),
    "get_bookmark": Operation(
        "GET", "bookmarks:bookmark", object_in_path="bookmark", returns="bookmark"
    ),
    "update_bookmark": Operation(
        "PATCH",
        "bookmarks:bookmark",
        has_body=True,
        object_in_path="bookmark",
        returns="bookmark",
        takes_if_match=True,
    ),
    "delete_bookmark": Operation(
        "DELETE", "bookmarks:bookmark", object_in_path="bookmark", takes_if_match=True
    ),
    "list_collections": Operation("GET", "bookmarks:collections"),
    "create_collection": Operation(
        "POST", "bookmarks:collections", has_body=True, returns="collection"
    ),
    "get_collection": Operation(
        "GET", "bookmarks:collection", object_in_path="collection", returns="collection"
    ),
    "update_collection": Operation(
        "PATCH",
        "bookmarks:collection",
        has_body=True,
        object_in_path="collection",
        returns="collection",
        takes_if_match=True,
    ),
    "delete_collection": Operation(
        "DELETE",
        "bookmarks:collection",
        object_in_path="collection",
        takes_if_match=True,
    ),
    "list_deletions": Operation("GET", "bookmarks:deletions", query=SINCE),
    "import_bookmarks": Operation("POST", "bookmarks:imports", is_costly=True),
    "export_bookmarks": Operation(
        "GET", "bookmarks:export", returns_file=True, is_costly=True
    ),
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
COSTLY = [name for name, operation in OPERATIONS.items() if operation.is_costly]
WITH_IF_MATCH = [
    name for name, operation in OPERATIONS.items() if operation.takes_if_match
]
WITH_AN_ETAG = [name for name, operation in OPERATIONS.items() if operation.returns]
ONE_OF_EACH_SCHEME = ["update_user_group", "create_bookmark"]
"""One operation for each authentication scheme: ``Token`` and ``Bearer``."""
WRITES_WITH_A_BODY = [name for name in WITH_A_BODY if name not in READS]


def body_of(name, values):
    """Return a body with those of the values that the operation takes.

    That of ``import_bookmarks`` is a file of a bookmark.
    """
    operation = OPERATIONS[name]
    fields = ["url"]
    if operation.has_body:
        ids = ["x"] if operation.object_in_path else []
        view = resolve(reverse(operation.url_name, args=ids)).func.view_class
        fields = view.request_serializers[operation.method]().fields
    return {field: values[field] for field in fields if field in values}


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
    if operation.scheme == "Token":
        token = ApiTokenFactory(team=user_group.team, recently_used=True)
    else:
        token = AccessTokenFactory(user_group=user_group, recently_used=True)
    create_ids = {
        None: lambda: [],
        "bookmark": lambda: [BookmarkFactory(user_group=user_group).pk],
        "collection": lambda: [CollectionFactory(user_group=user_group).pk],
        "access token": lambda: [AccessTokenFactory(user_group=user_group).public_id],
    }
    url = reverse(operation.url_name, args=create_ids[operation.object_in_path]())
    call = DownloadingCaller(client, operation.method, url, operation.scheme, token)
    call.operation = operation
    call.query.update(operation.query)
    if operation.user_group_in == "query":
        call.query["user_group_id"] = user_group.provided_id
    return call
