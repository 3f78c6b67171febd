"""Documentation of the operations on access tokens."""

from typing import Any

from bookmarks.exceptions import AccessTokenNotFound
from usergroups.exceptions import UserGroupNotFound
from usergroups.openapi import ID_MISSING
from usergroups.tokens.documentation import INVALID_LIMIT, id_parameter, operation, page_query, success_response

ACCESS_TOKEN: dict[str, Any] = {
    "id": "9b1d8c0f5f0a4e6d8a7b6c5d4e3f2a1b0c9d8e7f6a5b4c3d2e1f0a9b8c7d6e5f",
    "name": "Browser extension",
    "hint": "bma_4Hk6",
    "read_only": False,
    "created_at": "2026-01-31T09:26:53.589793Z",
    "expires_at": "2026-03-02T09:26:53.589793Z",
    "revoked_at": None,
    "last_used_at": None,
}
SECRET = "bma_4Hk6yLq0ZxWv9TnS2cBd8RfGj5MpUe3oKa1QhXw7"  # noqa: S105  # an example

TAGS = ["Access tokens"]
ID = id_parameter("The access token's `id`.", ACCESS_TOKEN["id"])

list_access_tokens = operation(
    operation_id="list_access_tokens",
    summary="List access tokens",
    description="Lists the access tokens of a user group, including expired and revoked ones, without their secrets.",
    tags=TAGS,
    query={"user_group_id": "example_1", **page_query(bytes.fromhex(ACCESS_TOKEN["id"]))},
    read_only=True,
    responses={
        200: success_response(
            "A page of access tokens.",
            access_tokens=[ACCESS_TOKEN],
            next=None,
            previous=None,
        )
    },
    failures=[ID_MISSING, INVALID_LIMIT, UserGroupNotFound()],
)

issue_access_token = operation(
    operation_id="issue_access_token",
    summary="Issue an access token",
    description=(
        "Issues an access token, which gives access to the bookmarks and collections of the user group. Only "
        "this response has its `secret`."
    ),
    tags=TAGS,
    request={"user_group_id": "example_1", "name": ACCESS_TOKEN["name"], "read_only": False, "expires_in": 2_592_000},
    responses={
        201: success_response(
            "The access token was issued.",
            access_token={**ACCESS_TOKEN, "secret": SECRET},
        )
    },
    failures=[ID_MISSING, UserGroupNotFound()],
)

revoke_access_token = operation(
    operation_id="revoke_access_token",
    summary="Revoke an access token",
    description="Revokes the token permanently. Revoking it again changes nothing.",
    tags=TAGS,
    path=ID,
    responses={200: success_response("The access token is revoked.")},
    failures=[AccessTokenNotFound()],
)
