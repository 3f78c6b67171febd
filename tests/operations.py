"""The operations of the API, with a valid request of each.

This is the only list of all operations. Tests that run for several of them
select these by their attributes. ``tests/calls.py`` has the calls in an order
in which one program can make all of them.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple

from django.http import HttpResponse
from django.urls import reverse

from tests.bookmarks.factories import (
    AccessTokenFactory,
    BookmarkFactory,
    CollectionFactory,
)
from tests.conftest import Caller
from tests.usergroups.factories import ApiTokenFactory
from usergroups.models import UserGroup

MIB = 1024 * 1024
URL = "https://example.com/generated"
NEW_GROUP = "generated"


class Existing:
    """Stands for the id of an object that exists, in a request."""

    def __init__(self, kind: str, create: Callable[[UserGroup], str]) -> None:
        self.kind = kind
        self.create = create
        """Creates an object of a user group, and returns its id."""

    def __repr__(self) -> str:
        return self.kind


USER_GROUP = Existing("user group", lambda group: group.provided_id)
USER_GROUP_TOKEN = Existing("user group token", lambda group: group.token)
ACCESS_TOKEN = Existing(
    "access token", lambda group: AccessTokenFactory(user_group=group).public_id
)
BOOKMARK = Existing("bookmark", lambda group: str(BookmarkFactory(user_group=group).pk))
COLLECTION = Existing(
    "collection", lambda group: str(CollectionFactory(user_group=group).pk)
)
# Deletions are not listed since a time that is too long ago.
SINCE = Existing("time", lambda group: "2999-12-31T00:00:00Z")


def resolved(value: Any, find: Callable[[Existing], Any]) -> Any:
    """Return a copy of a JSON value with an id in place of each object."""
    if isinstance(value, Existing):
        return find(value)
    if isinstance(value, Mapping):
        return {key: resolved(item, find) for key, item in value.items()}
    if isinstance(value, list):
        return [resolved(item, find) for item in value]
    return value


def objects_in(value: Any) -> Iterator[Existing]:
    """Yield the objects that a JSON value names."""
    if isinstance(value, Existing):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from objects_in(item)
    elif isinstance(value, list):
        for item in value:
            yield from objects_in(item)


class Operation(NamedTuple):
    method: str
    url_name: str
    body: Mapping[str, Any] | None = None
    """A valid body, with all fields.

    None if it takes no JSON object. The body of ``import_bookmarks`` is a
    file.
    """
    object_in_path: Existing | None = None
    query: Mapping[str, Any] = {}
    """The query parameters that it requires."""
    filters: Mapping[str, Any] = {}
    """Valid values of other query parameters."""
    returns: str | None = None
    """The kind of the one object in the answer, whose ETag the answer has."""
    takes_if_match: bool = False
    is_costly: bool = False
    """Whether all calls are costly, not only those with a large body."""
    max_body_size: int = MIB
    is_read: bool = False
    """Whether a read-only token may call it, although its method is not safe.
    """
    file: str | None = None
    """A valid file, if that is the body."""
    returns_file: bool = False
    """Whether a successful answer is a file instead of JSON."""

    @property
    def needs_object(self) -> bool:
        """Whether the answer is 404 if the object in the request does not
        exist.
        """
        values = [*self.query.values(), *(self.body or {}).values()]
        return bool(
            self.object_in_path or USER_GROUP in values or USER_GROUP_TOKEN in values
        )

    @property
    def objects(self) -> list[Existing]:
        """The objects that a valid request names."""
        request = [self.object_in_path, self.query, self.filters, self.body]
        return [*dict.fromkeys(objects_in(request))]

    @property
    def scheme(self) -> str:
        if self.url_name.startswith("bookmarks:"):
            return "Bearer"
        return "Token"

    def path(self, find: Callable[[Existing], Any]) -> str:
        args = [find(self.object_in_path)] if self.object_in_path else []
        return reverse(self.url_name, args=args)


OPERATIONS = {
    "get_api_token": Operation("GET", "usergroups:token"),
    "rotate_api_token": Operation("POST", "usergroups:token-rotate", {"grace": 3600}),
    "get_user_group": Operation(
        "GET",
        "usergroups:user",
        query={"user_group_id": USER_GROUP},
        returns="user group",
    ),
    "create_user_group": Operation(
        "POST",
        "usergroups:user",
        {"user_group_id": NEW_GROUP, "name": "A"},
        returns="user group",
    ),
    "update_user_group": Operation(
        "PUT",
        "usergroups:user",
        {
            "user_group_id": USER_GROUP,
            "name": "A",
            "properties": {"a": ["pro", 1]},
            "mapping": {"40": "eu", "41": 113},
        },
        returns="user group",
        takes_if_match=True,
    ),
    "delete_user_group": Operation(
        "DELETE",
        "usergroups:user",
        query={"user_group_id": USER_GROUP},
        takes_if_match=True,
    ),
    "rotate_user_group_token": Operation(
        "POST",
        "usergroups:user-token",
        {"user_group_id": USER_GROUP},
        returns="user group",
    ),
    "list_user_groups": Operation(
        "GET",
        "usergroups:users",
        filters={"limit": 200, "name": "A", "order": "oldest"},
        is_costly=True,
    ),
    "list_user_group_deletions": Operation(
        "GET", "usergroups:users-deletions", query={"since": SINCE}
    ),
    "put_user_groups": Operation(
        "POST",
        "usergroups:users-batch",
        {
            "user_groups": [
                {"user_group_id": NEW_GROUP, "properties": None},
                {"user_group_id": NEW_GROUP, "mapping": None},
            ]
        },
        max_body_size=8 * MIB,
        is_costly=True,
    ),
    "delete_user_groups": Operation(
        "POST",
        "usergroups:users-batch-delete",
        {"user_group_ids": [USER_GROUP]},
        is_costly=True,
    ),
    "resolve_user_group": Operation(
        "POST",
        "usergroups:user-resolve",
        {"token": USER_GROUP_TOKEN},
        is_read=True,
        returns="user group",
    ),
    "list_access_tokens": Operation(
        "GET",
        "access_tokens:access-tokens",
        query={"user_group_id": USER_GROUP},
        filters={"limit": 200},
    ),
    "issue_access_token": Operation(
        "POST",
        "access_tokens:access-tokens",
        {
            "user_group_id": USER_GROUP,
            "name": "A",
            "read_only": True,
            "expires_in": 60,
        },
    ),
    "revoke_access_token": Operation(
        "DELETE",
        "access_tokens:access-token",
        object_in_path=ACCESS_TOKEN,
        filters={"successors": True},
    ),
    "issue_access_tokens": Operation(
        "POST",
        "access_tokens:access-tokens-batch",
        {
            "user_group_ids": [USER_GROUP],
            "name": "A",
            "read_only": True,
            "expires_in": 60,
        },
        is_costly=True,
    ),
    "revoke_access_tokens": Operation(
        "POST",
        "access_tokens:access-tokens-batch-revoke",
        {"ids": [ACCESS_TOKEN]},
        is_costly=True,
    ),
    "list_team_access_tokens": Operation(
        "GET",
        "access_tokens:team-access-tokens",
        filters={
            "limit": 200,
            "order": "oldest",
            "expires_before": "2100-01-01T00:00:00Z",
        },
    ),
    "get_access_token": Operation("GET", "bookmarks:token"),
    "rotate_access_token": Operation("POST", "bookmarks:token-rotate", {"grace": 3600}),
    "list_bookmarks": Operation(
        "GET",
        "bookmarks:bookmarks",
        filters={
            "url": URL,
            "q": "GENERATED",
            "tag": ["tag", "B, C"],
            "created_since": "2026-01-01T00:00:00Z",
            "collection": COLLECTION,
            "limit": 200,
        },
    ),
    "create_bookmark": Operation(
        "POST",
        "bookmarks:bookmarks",
        {
            "url": URL,
            "title": "A",
            "tags": ["Tag", "b, c"],
            "note": "N",
            "collection": COLLECTION,
        },
        returns="bookmark",
    ),
    "create_bookmarks": Operation(
        "POST",
        "bookmarks:bookmarks-batch",
        {
            "bookmarks": [{"url": URL, "title": "B", "collection": COLLECTION}],
            "update": True,
        },
        max_body_size=8 * MIB,
        is_costly=True,
    ),
    "delete_bookmarks": Operation(
        "POST", "bookmarks:bookmarks-batch-delete", {"ids": [BOOKMARK]}, is_costly=True
    ),
    "move_bookmarks": Operation(
        "POST",
        "bookmarks:bookmarks-batch-move",
        {"ids": [BOOKMARK], "collection": COLLECTION},
        is_costly=True,
    ),
    "lookup_bookmarks": Operation(
        "POST",
        "bookmarks:bookmarks-lookup",
        {"urls": [URL, "example.com"]},
        is_read=True,
        max_body_size=8 * MIB,
        is_costly=True,
    ),
    "get_bookmark": Operation(
        "GET", "bookmarks:bookmark", object_in_path=BOOKMARK, returns="bookmark"
    ),
    "update_bookmark": Operation(
        "PATCH",
        "bookmarks:bookmark",
        {"url": f"{URL}/2", "tags": ["b, c"], "note": "", "collection": COLLECTION},
        object_in_path=BOOKMARK,
        returns="bookmark",
        takes_if_match=True,
    ),
    "delete_bookmark": Operation(
        "DELETE", "bookmarks:bookmark", object_in_path=BOOKMARK, takes_if_match=True
    ),
    "list_collections": Operation(
        "GET", "bookmarks:collections", filters={"limit": 200}
    ),
    "create_collection": Operation(
        "POST", "bookmarks:collections", {"name": "Generated"}, returns="collection"
    ),
    "get_collection": Operation(
        "GET",
        "bookmarks:collection",
        object_in_path=COLLECTION,
        returns="collection",
    ),
    "update_collection": Operation(
        "PATCH",
        "bookmarks:collection",
        {"name": "Renamed"},
        object_in_path=COLLECTION,
        returns="collection",
        takes_if_match=True,
    ),
    "delete_collection": Operation(
        "DELETE",
        "bookmarks:collection",
        object_in_path=COLLECTION,
        takes_if_match=True,
    ),
    "list_tags": Operation(
        "GET", "bookmarks:tags", filters={"prefix": "T", "limit": 200}, is_costly=True
    ),
    "rename_tag": Operation(
        "POST", "bookmarks:tags-rename", {"tag": "tag", "to": "New"}, is_costly=True
    ),
    "list_deletions": Operation("GET", "bookmarks:deletions", query={"since": SINCE}),
    "import_bookmarks": Operation(
        "POST",
        "bookmarks:imports",
        filters={"format": "jsonl", "update": True, "collection": COLLECTION},
        file=f'{{"url": "{URL}"}}',
        is_costly=True,
    ),
    "export_bookmarks": Operation(
        "GET",
        "bookmarks:export",
        filters={"format": "csv", "collection": COLLECTION},
        returns_file=True,
        is_costly=True,
    ),
}


WITH_A_BODY = [name for name, operation in OPERATIONS.items() if operation.body]
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


class DownloadingCaller(Caller):
    """A caller that reads streamed answers completely."""

    def __call__(self, *args, **extra):
        answer = super().__call__(*args, **extra)
        if not answer.streaming:
            return answer
        return HttpResponse(
            answer.getvalue(), status=answer.status_code, headers=answer.headers
        )


def valid_body_of(name, user_group):
    """Return a body that an operation accepts: JSON or, of
    ``import_bookmarks``, a file.
    """
    operation = OPERATIONS[name]
    if operation.file:
        return operation.file.encode()
    # two places of one object get the same
    find = cache(lambda each: each.create(user_group))
    return resolved(operation.body or {}, find)


def caller(client, user_group, name):
    """Return a function, with the attribute ``operation``, that calls this
    operation with a valid token.
    """
    operation = OPERATIONS[name]
    if operation.scheme == "Token":
        token = ApiTokenFactory(team=user_group.team, recently_used=True)
    else:
        token = AccessTokenFactory(user_group=user_group, recently_used=True)

    def find(each):
        return each.create(user_group)

    call = DownloadingCaller(
        client, operation.method, operation.path(find), operation.scheme, token
    )
    call.operation = operation
    call.query.update(resolved(operation.query, find))
    return call
