"""The OpenAPI documentation of the user group operations."""

from typing import Any

from rest_framework.exceptions import ErrorDetail, ValidationError

from .contract.fields import Envelope
from .contract.openapi import LIMIT_WRONG, answer, operation
from .exceptions import UserGroupNotFound
from .serializers import (
    NewUserGroupEnvelope,
    UserGroupBatchEnvelope,
    UserGroupBatchSerializer,
    UserGroupEnvelope,
    UserGroupIdSerializer,
    UserGroupListEnvelope,
    UserGroupListQuery,
    UserGroupUpdateSerializer,
)

USER_GROUP = {
    "team_id": 3,
    "token": "ugt_9vUXkqoz4PJYbnLx6D0ScHweRaT1mGi27yhQKd",
    "name": "Example 1",
    "provided_id": "example_1",
    "properties": {"plan": "pro", "region": "EU"},
    "api_environment_tag": "Customer",
}
OTHER_USER_GROUP = {
    **USER_GROUP,
    "token": "ugt_Ze4TqRm7WvYx2BhKc9LdPs5NfJg8UaDo3X6tC1",
    "name": "Example 2",
    "provided_id": "example_2",
    "properties": None,
}
FIELDS: dict[str, Any] = {
    "user_group_id": "example_1",
    "name": "Example 1",
    "mapping": {"40": "warehouse_eu", "41": 113},
    "properties": {"plan": "pro", "region": "EU"},
}
ID = {"user_group_id": "example_1"}

ID_MISSING = ValidationError({"user_group_id": [ErrorDetail("This field is required.", "required")]})
MAPPING_WRONG = ValidationError({"mapping": {"40": [ErrorDetail("Not a string or an integer.", "invalid")]}})

TAGS = ["User groups"]
LOOKUP = "The group is looked up by `user_group_id` in the API token's team and environment."

get_user_group = operation(
    operation_id="get_user_group",
    summary="Read a user group",
    description=LOOKUP,
    tags=TAGS,
    read_only=True,
    query=UserGroupIdSerializer,
    answers={200: answer(UserGroupEnvelope, "The group.", user_group=USER_GROUP)},
    failures=[ID_MISSING, UserGroupNotFound()],
)

create_user_group = operation(
    operation_id="create_user_group",
    summary="Get or create a user group",
    description=(
        "Returns the group unchanged if the API token's team has a group with this `user_group_id` in the API token's "
        "environment. Otherwise creates it; its `name` is `user_group_id` by default."
    ),
    tags=TAGS,
    body=(UserGroupUpdateSerializer, FIELDS),
    answers={
        200: answer(NewUserGroupEnvelope, "The group already existed.", user_group=USER_GROUP, new_user_group=False),
        201: answer(NewUserGroupEnvelope, "The group was created.", user_group=USER_GROUP, new_user_group=True),
    },
    failures=[ID_MISSING, MAPPING_WRONG],
)

update_user_group = operation(
    operation_id="update_user_group",
    summary="Update a user group",
    description=(
        f"{LOOKUP} Omitted fields do not change; `mapping` and `properties` are replaced as a whole. An update never "
        "creates a group: an unknown `user_group_id` results in 404. The response is the group after the update, "
        "always with all six fields. Store its `token` to render embedded dashboards."
    ),
    tags=TAGS,
    body=(UserGroupUpdateSerializer, FIELDS),
    answers={200: answer(UserGroupEnvelope, "The group after the update.", user_group=USER_GROUP)},
    failures=[ID_MISSING, MAPPING_WRONG, UserGroupNotFound()],
)

delete_user_group = operation(
    operation_id="delete_user_group",
    summary="Delete a user group",
    description=f"{LOOKUP} Its bookmarks, collections and access tokens are also deleted.",
    tags=TAGS,
    query=UserGroupIdSerializer,
    answers={200: answer(Envelope, "The group was deleted.")},
    failures=[ID_MISSING, UserGroupNotFound()],
)

rotate_user_group_token = operation(
    operation_id="rotate_user_group_token",
    summary="Rotate the token of a user group",
    description=f"{LOOKUP} Its old `token` becomes invalid; dashboards need the new one.",
    tags=TAGS,
    body=(UserGroupIdSerializer, ID),
    answers={200: answer(UserGroupEnvelope, "The group with its new token.", user_group=USER_GROUP)},
    failures=[ID_MISSING, UserGroupNotFound()],
)

list_user_groups = operation(
    operation_id="list_user_groups",
    summary="List user groups",
    description=(
        "The groups of the API token's team in the API token's environment, newest first. Follow `next` until it is "
        "null to get each group that existed at the start exactly once."
    ),
    tags=TAGS,
    read_only=True,
    query=UserGroupListQuery,
    answers={
        200: answer(UserGroupListEnvelope, "A page of groups.", user_groups=[USER_GROUP], next=None, previous=None)
    },
    failures=[LIMIT_WRONG],
)

put_user_groups = operation(
    operation_id="put_user_groups",
    summary="Update or create many user groups",
    description=(
        "Up to 1,000 groups in a body of up to 8 MiB. An item has the format of an update, and creates the group if it "
        "does not exist. An invalid item does not affect the others: `results` has, in the same order, the response "
        "and the `status` of the equivalent single request for each item."
    ),
    tags=TAGS,
    body=(UserGroupBatchSerializer, {"user_groups": [FIELDS, {"user_group_id": "example_2", "name": "Example 2"}]}),
    answers={
        200: answer(
            UserGroupBatchEnvelope,
            "The results of the items.",
            results=[
                {"status": 200, "success": 1, "user_group": USER_GROUP, "new_user_group": False},
                {"status": 201, "success": 1, "user_group": OTHER_USER_GROUP, "new_user_group": True},
            ],
        )
    },
    failures=[ValidationError({"user_groups": [ErrorDetail("This field is required.", "required")]})],
)
