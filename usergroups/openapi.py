"""The OpenAPI documentation of the user group operations."""

from functools import partial

from .api.openapi import ETAG, IF_MATCH, PROTECTED, operation
from .db.cascades import TooManyDependants
from .db.versions import Modified
from .models import UserGroup
from .tokens.openapi import DESCRIPTION, token_operation, token_rotation
from .user_group_errors import TooOld

get_api_token = token_operation(
    "get_api_token",
    "Describe the API token",
    description=DESCRIPTION,
)

rotate_api_token = token_rotation("rotate_api_token", "Rotate the API token")

document = partial(operation, tags=["User groups"])
LOOKUP = (
    "The group is looked up by `user_group_id` in the API token's team and environment."
)

get_user_group = document(
    "get_user_group",
    "Retrieve a user group",
    description=LOOKUP,
    parameters=[ETAG],
    errors=[UserGroup.DoesNotExist()],
)

resolve_user_group = document(
    "resolve_user_group",
    "Find the user group of a user group token",
    description=(
        "Finds the group in the API token's team and environment. The token is sent in "
        "the body, because URLs are written to logs. A read-only API token is "
        "sufficient."
    ),
    parameters=[ETAG],
    errors=[UserGroup.DoesNotExist()],
)

create_user_group = document(
    "create_user_group",
    "Get or create a user group",
    description=(
        "Returns the group unchanged if the API token's team has a group with this "
        "`user_group_id` in the API token's environment. Otherwise creates it, with "
        "the status 201. `name` defaults to `user_group_id`."
    ),
    parameters=[ETAG],
    statuses=[200, 201],
)

update_user_group = document(
    "update_user_group",
    "Update a user group",
    description=(
        f"{LOOKUP} Omitted fields stay unchanged. `mapping` and `properties` are "
        "replaced as a whole. An update never creates a group: an unknown "
        "`user_group_id` results in 404. The response has all six fields of the "
        "updated group. Store its `token` to render embedded dashboards."
    ),
    parameters=[IF_MATCH, ETAG],
    errors=[UserGroup.DoesNotExist(), Modified()],
)

delete_user_group = document(
    "delete_user_group",
    "Delete a user group",
    description=(
        f"{LOOKUP} Its bookmarks, collections and access tokens are also deleted."
    ),
    parameters=[IF_MATCH],
    errors=[UserGroup.DoesNotExist(), Modified(), TooManyDependants(), PROTECTED],
)

rotate_user_group_token = document(
    "rotate_user_group_token",
    "Rotate the token of a user group",
    description=(
        f"{LOOKUP} The old `token` becomes invalid. Dashboards need the new one."
    ),
    parameters=[ETAG],
    errors=[UserGroup.DoesNotExist()],
)

list_user_groups = document(
    "list_user_groups",
    "List user groups",
    description=(
        "Lists the user groups of the API token's team in the API token's environment, "
        "ordered by `created_at` or, with `updated_since`, by `updated_at`. Request "
        "`next` until it is null: every user group that existed at the start is "
        "listed exactly once, unless it changes during a list with `updated_since`. A "
        "page ends before the `mapping` and `properties` of its user groups exceed 2 "
        "MiB of JSON, but has at least one user group."
    ),
)

list_user_group_deletions = document(
    "list_user_group_deletions",
    "List deleted user groups",
    description=(
        "Lists which user groups of the API token's team and environment were deleted, "
        "in whatever way, ordered by `deleted_at`. Request `next` until it is null. "
        "Deletions are listed for 90 days, unless the operator sets another time."
    ),
    errors=[TooOld()],
)

put_user_groups = document(
    "put_user_groups",
    "Update or create many user groups",
    description=(
        "Takes up to 1,000 user groups in a body of up to 8 MiB. Each item has the "
        "fields of a single update request, and creates the user group if it does not "
        "exist. An invalid item does not affect the others. `results` lists one "
        "result for each item, in the same order: the `status` and the body that a "
        "single request would return, and whether the item `changed` anything."
    ),
)

delete_user_groups = document(
    "delete_user_groups",
    "Delete many user groups",
    description=(
        "Takes up to 1,000 ids, and deletes the user groups one after the other, with "
        "their bookmarks, collections and access tokens. `results` lists one result "
        "for each id, in the same order: the `status` and the body that a single "
        "delete request would return. If the time of the call ends before, the other "
        "items have the code `time_limit_exceeded`, and can be sent again."
    ),
)
