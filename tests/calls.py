"""Calls of every operation, in an order in which each gets its status.

Every generated client and every host makes all of them.
"""

from functools import reduce
from typing import Any, NamedTuple

from tests.operations import (
    ACCESS_TOKEN,
    BOOKMARK,
    COLLECTION,
    NEW_GROUP,
    OPERATIONS,
    SINCE,
    URL,
    USER_GROUP,
    USER_GROUP_TOKEN,
    Existing,
    resolved,
)


class Call(NamedTuple):
    operation: str
    status: int
    parameters: dict[str, Any] = {}
    """Those of the path and of the query."""
    body: dict[str, Any] | None = None
    file: str | None = None
    """The file that is the body."""


def valid(name: str, status: int = 200, **changes: Any) -> Call:
    """Return the valid call of the catalogue, with other values of some of
    its parameters or fields.
    """
    operation = OPERATIONS[name]
    parameters = {**operation.query, **operation.filters}
    if operation.object_in_path:
        parameters["id"] = operation.object_in_path
    body = dict(operation.body) if operation.body else None
    (body or parameters).update(changes)
    return Call(name, status, parameters, body, operation.file)


PLACES = {
    USER_GROUP: ("create_user_group", "user_group", "provided_id"),
    USER_GROUP_TOKEN: ("get_user_group", "user_group", "token"),
    ACCESS_TOKEN: ("issue_access_token", "access_token", "id"),
    BOOKMARK: ("create_bookmark", "bookmark", "id"),
    COLLECTION: ("create_collection", "collection", "id"),
    SINCE: ("issue_access_token", "access_token", "created_at"),
}
"""Where the id of each object is: the operation in whose last answer, and the
keys in the answer.
"""

STALE = {"url": URL, "tags_remove": ["A"], "if_match": '"0"'}
GROUPS = [
    valid("create_user_group", 201),
    valid("update_user_group"),
    valid("get_user_group"),
    valid("rotate_user_group_token"),
    valid("get_user_group"),  # The answer has the new token.
    valid("put_user_groups"),
    valid("list_user_groups"),
    valid("resolve_user_group"),
    valid("issue_access_token", 201),
    valid("list_access_tokens"),
    valid("revoke_access_token"),
    valid("revoke_access_token", 404, id="unknown", successors=False),
    valid("issue_access_tokens", user_group_ids=[USER_GROUP, "unknown"]),
    valid("revoke_access_tokens", ids=[ACCESS_TOKEN, "unknown"]),
    valid("list_team_access_tokens"),
    valid("get_api_token"),
    valid("rotate_api_token", 201),
    valid("rotate_api_token", 201),
    valid("get_access_token"),
    valid("delete_user_group"),
    valid("list_user_group_deletions"),
    valid("delete_user_groups", user_group_ids=[NEW_GROUP, "other"]),
    valid("get_user_group", 404),
]
BOOKMARKS = [
    valid("rotate_access_token", 201),
    valid("create_collection", 201),
    valid("create_collection", 409),
    valid("update_collection"),
    valid("get_collection"),
    valid("list_collections"),
    valid("create_bookmark", 201),
    valid("create_bookmark", 200),
    Call("create_bookmark", 400, body={"url": "example.com"}),
    valid("get_bookmark"),
    valid("update_bookmark", collection=None),
    Call("update_bookmark", 200, {"id": BOOKMARK}, valid("create_bookmark").body),
    valid("update_bookmark"),
    valid("move_bookmarks", ids=[BOOKMARK, "unknown"]),
    valid("move_bookmarks", collection=None),
    valid("delete_bookmarks", ids=["unknown"]),
    valid("create_bookmarks", bookmarks=[valid("create_bookmark").body, {"url": "a"}]),
    valid("create_bookmarks", bookmarks=[{"url": URL, "tags_add": ["A"]}, STALE]),
    valid("lookup_bookmarks"),
    valid("list_bookmarks"),
    valid("import_bookmarks"),
    valid("export_bookmarks"),
    valid("delete_bookmark"),
    valid("delete_collection"),
    valid("list_tags"),
    valid("rename_tag"),
    valid("list_deletions"),
]
CALLS = GROUPS + BOOKMARKS


def with_answers(value: Any, answers: dict[str, Any]) -> Any:
    """Return a copy of a JSON value with the ids of the objects that the
    calls have created.

    ``answers`` has the last answer of each operation.
    """

    def find(each: Existing) -> Any:
        operation, *path = PLACES[each]
        return reduce(dict.__getitem__, path, answers[operation])

    return resolved(value, find)


def operations_of(
    document: dict[str, Any],
) -> dict[str, tuple[str, str, dict[str, Any]]]:
    """Return the path, the method and the description of each operation of an
    OpenAPI document, by its id.
    """
    return {
        operation["operationId"]: (path, method, operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    }
