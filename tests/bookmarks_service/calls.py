"""Calls of every operation, in an order in which each gets its status.

Every generated client makes all of them.
"""

from functools import reduce
from typing import Any, NamedTuple


class Answered:
    """A value in the last answer of an operation, for use in a later call."""

    def __init__(self, operation: str, *path: str) -> None:
        self.operation = operation
        self.path = path

    def find(self, answers: dict[str, Any]) -> Any:
        """Return the value. ``answers`` has the last answer of each operation."""
        return reduce(dict.__getitem__, self.path, answers[self.operation])


class Call(NamedTuple):
    operation: str
    status: int
    parameters: dict[str, Any] = {}
    """Those of the path and of the query."""
    body: dict[str, Any] | None = None
    file: str | None = None
    """The file that is the body."""


GROUP = {"user_group_id": "generated"}
COLLECTION = Answered("create_collection", "collection", "id")
BOOKMARK = Answered("create_bookmark", "bookmark", "id")
CREATED = Answered("create_bookmark", "bookmark", "created_at")
URL = "https://example.com/generated"

CALLS = [
    Call("create_user_group", 201, body={**GROUP, "name": "A"}),
    Call(
        "update_user_group",
        200,
        body={
            **GROUP,
            "properties": {"a": ["pro", 1]},
            "mapping": {"40": "eu", "41": 113},
        },
    ),
    Call("get_user_group", 200, GROUP),
    Call("rotate_user_group_token", 200, body=GROUP),
    Call("get_user_group", 200, GROUP),  # The answer has the new token.
    Call(
        "put_user_groups",
        200,
        body={
            "user_groups": [{**GROUP, "properties": None}, {**GROUP, "mapping": None}]
        },
    ),
    Call("list_user_groups", 200, {"limit": 1, "name": "A", "order": "oldest"}),
    Call(
        "resolve_user_group",
        200,
        body={"token": Answered("get_user_group", "user_group", "token")},
    ),
    Call(
        "issue_access_token",
        201,
        body={**GROUP, "name": "A", "read_only": True, "expires_in": 60},
    ),
    Call("list_access_tokens", 200, {**GROUP, "limit": 1}),
    Call(
        "revoke_access_token",
        200,
        {
            "id": Answered("issue_access_token", "access_token", "id"),
            "successors": True,
        },
    ),
    Call("revoke_access_token", 404, {"id": "unknown", "successors": False}),
    Call(
        "issue_access_tokens",
        200,
        body={
            "user_group_ids": ["generated", "unknown"],
            "name": "A",
            "read_only": True,
            "expires_in": 60,
        },
    ),
    Call(
        "revoke_access_tokens",
        200,
        body={"ids": [Answered("issue_access_token", "access_token", "id"), "unknown"]},
    ),
    Call(
        "list_team_access_tokens",
        200,
        {"limit": 1, "order": "oldest", "expires_before": "2100-01-01T00:00:00Z"},
    ),
    Call("get_api_token", 200),
    Call("rotate_api_token", 201, body={"grace": 3600}),
    Call("rotate_api_token", 201, body={"grace": 3600}),
    Call("delete_user_group", 200, GROUP),
    Call(
        "list_user_group_deletions",
        200,
        {"since": Answered("issue_access_token", "access_token", "created_at")},
    ),
    Call("delete_user_groups", 200, body={"user_group_ids": ["generated", "other"]}),
    Call("get_user_group", 404, GROUP),
    Call("get_access_token", 200),
    Call("rotate_access_token", 201, body={"grace": 3600}),
    Call("create_collection", 201, body={"name": "Generated"}),
    Call("create_collection", 409, body={"name": "Generated"}),
    Call("update_collection", 200, {"id": COLLECTION}, {"name": "Renamed"}),
    Call("get_collection", 200, {"id": COLLECTION}),
    Call("list_collections", 200, {"limit": 1}),
    Call(
        "create_bookmark",
        201,
        body={
            "url": URL,
            "title": "A",
            "tags": ["Tag", "b, c"],
            "note": "N",
            "collection": COLLECTION,
        },
    ),
    Call("create_bookmark", 200, body={"url": URL, "collection": COLLECTION}),
    Call("create_bookmark", 400, body={"url": "example.com"}),
    Call("get_bookmark", 200, {"id": BOOKMARK}),
    Call(
        "update_bookmark",
        200,
        {"id": BOOKMARK},
        {"collection": None, "url": f"{URL}/2", "tags": ["b, c"], "note": ""},
    ),
    Call(
        "update_bookmark",
        200,
        {"id": BOOKMARK},
        {"url": URL, "tags": ["Tag", "b, c"], "note": "N"},
    ),
    Call(
        "move_bookmarks",
        200,
        body={"ids": [BOOKMARK, "unknown"], "collection": COLLECTION},
    ),
    Call("move_bookmarks", 200, body={"ids": [BOOKMARK], "collection": None}),
    Call("delete_bookmarks", 200, body={"ids": ["unknown"]}),
    Call(
        "create_bookmarks",
        200,
        body={
            "bookmarks": [{"url": URL, "title": "B"}, {"url": "example.com"}],
            "update": True,
        },
    ),
    Call("lookup_bookmarks", 200, body={"urls": [URL, "example.com"]}),
    Call(
        "list_bookmarks",
        200,
        {
            "url": URL,
            "q": "GENERATED",
            "tag": ["tag", "B, C"],
            "created_since": CREATED,
            "collection": "",
            "limit": 1,
        },
    ),
    Call(
        "import_bookmarks",
        200,
        {"format": "jsonl", "update": True},
        file='{"url": "https://example.com/generated"}',
    ),
    Call("export_bookmarks", 200, {"format": "csv"}),
    Call("delete_bookmark", 200, {"id": BOOKMARK}),
    Call("delete_collection", 200, {"id": COLLECTION}),
    Call("list_deletions", 200, {"since": CREATED}),
]


def resolved(value: Any, answers: dict[str, Any]) -> Any:
    """Return a copy of ``value`` in which the values of earlier answers have
    been filled in.
    """
    if isinstance(value, Answered):
        return value.find(answers)
    if isinstance(value, dict):
        return {key: resolved(item, answers) for key, item in value.items()}
    if isinstance(value, list):
        return [resolved(item, answers) for item in value]
    return value


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
