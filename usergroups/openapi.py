"""The OpenAPI documentation of the user group operations."""

from functools import partial

from rest_framework.exceptions import ErrorDetail, ValidationError

from .api import batches
from .api.errors import MissingField
from .api.openapi import (
    ETAG,
    IF_MATCH,
    PROTECTED,
    operation,
    page_query,
    page_response,
    success_response,
)
from .db.cascades import TooManyDependants
from .models import UserGroup
from .serializers import DeletionListQuery, UserGroupListQuery
from .tokens.openapi import DESCRIPTION, TOKEN, describe_rotation, token_operation
from .user_group_errors import TooOld, UserGroupNotFound

USER_GROUP = {
    "team_id": 3,
    "token": "ugt_9vUXkqoz4PJYbnLx6D0ScHweRaT1mGi27yhQKd",
    "name": "Example 1",
    "provided_id": "example_1",
    "properties": {"plan": "pro", "region": "EU"},
    "api_environment_tag": "Customer",
}
USER_GROUP_DETAIL = {
    **USER_GROUP,
    "mapping": {"40": "warehouse_eu", "41": 113},
    "created_at": "2026-01-31T09:20:01.000321Z",
    "updated_at": "2026-01-31T09:26:53.589793Z",
}
OTHER_TOKEN = "ugt_Ze4TqRm7WvYx2BhKc9LdPs5NfJg8UaDo3X6tC1"  # noqa: S105  # an example
NEW_USER_GROUP = {
    **USER_GROUP,
    "token": OTHER_TOKEN,
    "name": "New",
    "provided_id": "example_2",
    "properties": None,
}
ID = {"user_group_id": "example_1"}
FIELDS = {
    "user_group_id": "example_1",
    "name": "Example 1",
    "mapping": {"40": "warehouse_eu", "41": 113},
    "properties": {"plan": "pro", "region": "EU"},
}

ID_MISSING = MissingField("user_group_id")
INVALID_LIMIT = ValidationError(
    {"limit": [ErrorDetail("A valid integer is required.", "invalid")]}
)
INVALID_MAPPING = ValidationError(
    {"mapping": {"40": [ErrorDetail("Not a string or an integer.", "invalid")]}}
)

get_api_token = token_operation(
    "get_api_token",
    summary="Describe the API token",
    description=DESCRIPTION,
    responses={
        200: success_response(
            "The token, with its team and environment.",
            token={**TOKEN, "name": "CI", "hint": "uga_8Tz2"},
            team_id=3,
            api_environment_tag="Customer",
        )
    },
)

rotate_api_token = describe_rotation(
    "rotate_api_token",
    "Rotate the API token",
    "uga_8Tz2vNq5XcWk1LmR7yJd4PfHs9BgE6aUo3KtQiZx0",
)

document = partial(operation, tags=["User groups"])
LOOKUP = (
    "The group is looked up by `user_group_id` in the API token's team and environment."
)

get_user_group = document(
    "get_user_group",
    summary="Retrieve a user group",
    description=LOOKUP,
    parameters=[ETAG],
    query=ID,
    responses={200: success_response("The group.", user_group=USER_GROUP_DETAIL)},
    errors=[ID_MISSING, UserGroup.DoesNotExist()],
)

resolve_user_group = document(
    "resolve_user_group",
    summary="Find the user group of a user group token",
    description=(
        "Finds the group in the API token's team and environment. The token is sent in "
        "the body, because URLs are written to logs. A read-only API token is "
        "sufficient."
    ),
    parameters=[ETAG],
    body={"token": USER_GROUP["token"]},
    responses={200: success_response("The group.", user_group=USER_GROUP_DETAIL)},
    errors=[MissingField("token"), UserGroup.DoesNotExist()],
)

create_user_group = document(
    "create_user_group",
    summary="Get or create a user group",
    description=(
        "Returns the group unchanged if the API token's team has a group with this "
        "`user_group_id` in the API token's environment. Otherwise creates it. `name` "
        "defaults to `user_group_id`."
    ),
    parameters=[ETAG],
    body=FIELDS,
    responses={
        200: success_response(
            "The group already existed.", user_group=USER_GROUP, new_user_group=False
        ),
        201: success_response(
            "The group was created.", user_group=USER_GROUP, new_user_group=True
        ),
    },
    errors=[ID_MISSING, INVALID_MAPPING],
)

update_user_group = document(
    "update_user_group",
    summary="Update a user group",
    description=(
        f"{LOOKUP} Omitted fields stay unchanged. `mapping` and `properties` are "
        "replaced as a whole. An update never creates a group: an unknown "
        "`user_group_id` results in 404. The response has all six fields of the "
        "updated group. Store its `token` to render embedded dashboards."
    ),
    parameters=[IF_MATCH, ETAG],
    body=FIELDS,
    responses={200: success_response("The updated group.", user_group=USER_GROUP)},
    errors=[ID_MISSING, INVALID_MAPPING, UserGroup.DoesNotExist()],
)

delete_user_group = document(
    "delete_user_group",
    summary="Delete a user group",
    description=(
        f"{LOOKUP} Its bookmarks, collections and access tokens are also deleted."
    ),
    parameters=[IF_MATCH],
    query=ID,
    responses={200: success_response("The group was deleted.")},
    errors=[ID_MISSING, UserGroup.DoesNotExist(), TooManyDependants(), PROTECTED],
)

rotate_user_group_token = document(
    "rotate_user_group_token",
    summary="Rotate the token of a user group",
    description=(
        f"{LOOKUP} The old `token` becomes invalid. Dashboards need the new one."
    ),
    parameters=[ETAG],
    body=ID,
    responses={
        200: success_response("The group with its new token.", user_group=USER_GROUP)
    },
    errors=[ID_MISSING, UserGroup.DoesNotExist()],
)

list_user_groups = document(
    "list_user_groups",
    summary="List user groups",
    description=(
        "Lists the user groups of the API token's team in the API token's environment, "
        "ordered by `created_at` or, with `updated_since`, by `updated_at`. Request "
        "`next` until it is null: every user group that existed at the start is "
        "listed exactly once, unless it changes during a list with `updated_since`. A "
        "page ends before the `mapping` and `properties` of its user groups exceed 2 "
        "MiB of JSON, but has at least one user group."
    ),
    query=page_query(
        UserGroupListQuery,
        ID["user_group_id"],
        name="Example",
        updated_since=USER_GROUP_DETAIL["updated_at"],
    ),
    responses={
        200: page_response("A page of groups.", user_groups=[USER_GROUP_DETAIL])
    },
    errors=[INVALID_LIMIT],
)

RECORD_ID = "01930e7b-0d3c-7a10-8a55-6c1f2e9b4d37"
SINCE = "2026-01-01T00:00:00Z"

list_user_group_deletions = document(
    "list_user_group_deletions",
    summary="List deleted user groups",
    description=(
        "Lists which user groups of the API token's team and environment were deleted, "
        "in whatever way, ordered by `deleted_at`. Request `next` until it is null. "
        "Deletions are listed for 90 days, unless the operator sets another time."
    ),
    query=page_query(DeletionListQuery, RECORD_ID, since=SINCE),
    responses={
        200: page_response(
            "A page of deletions.",
            deletions=[
                {
                    "user_group_id": "example_1",
                    "deleted_at": "2026-01-31T09:26:53.589793Z",
                }
            ],
        )
    },
    errors=[MissingField("since"), TooOld()],
)

UPDATED = {
    "status": 200,
    "success": 1,
    "changed": True,
    "updated_at": USER_GROUP_DETAIL["updated_at"],
    "user_group": USER_GROUP,
    "new_user_group": False,
}
CREATED = {
    "status": 201,
    "success": 1,
    "changed": True,
    "updated_at": USER_GROUP_DETAIL["updated_at"],
    "user_group": NEW_USER_GROUP,
    "new_user_group": True,
}

put_user_groups = document(
    "put_user_groups",
    summary="Update or create many user groups",
    description=(
        "Takes up to 1,000 user groups in a body of up to 8 MiB. Each item has the "
        "fields of a single update request, and creates the user group if it does not "
        "exist. An invalid item does not affect the others. `results` lists one "
        "result for each item, in the same order: the `status` and the body that a "
        "single request would return, and whether the item `changed` anything."
    ),
    body={"user_groups": [FIELDS, {"user_group_id": "example_2", "name": "New"}]},
    responses={
        200: success_response("The result of each item.", results=[UPDATED, CREATED])
    },
    errors=[MissingField("user_groups")],
)

DELETED = {"status": 200, "success": 1, "changed": True}
NOT_FOUND = {**batches.FailedItem(UserGroupNotFound()), "changed": False}

delete_user_groups = document(
    "delete_user_groups",
    summary="Delete many user groups",
    description=(
        "Takes up to 1,000 ids, and deletes the user groups one after the other, with "
        "their bookmarks, collections and access tokens. `results` lists one result "
        "for each id, in the same order: the `status` and the body that a single "
        "delete request would return. If the time of the call ends before, the other "
        "items have the code `time_limit_exceeded`, and can be sent again."
    ),
    body={"user_group_ids": ["example_1", "example_2"]},
    responses={
        200: success_response("The result of each id.", results=[DELETED, NOT_FOUND])
    },
    errors=[MissingField("user_group_ids")],
)
