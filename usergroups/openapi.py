"""The user group operations in the OpenAPI document."""

from typing import Any

from rest_framework.exceptions import ErrorDetail, ValidationError

from .contract.errors import failure
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
FOUND = "The group is found by the API token's team, the API token's environment and `user_group_id`."

get_user_group = operation(
    operation_id="get_user_group",
    summary="Read a user group",
    description=FOUND,
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
        "A group that is there already, by the API token's team, the API token's environment and `user_group_id`, is "
        "returned unchanged. A new one without `name` is named as its `user_group_id`."
    ),
    tags=TAGS,
    body=(UserGroupUpdateSerializer, FIELDS),
    answers={
        200: answer(NewUserGroupEnvelope, "The group was there.", user_group=USER_GROUP, new_user_group=False),
        201: answer(NewUserGroupEnvelope, "The group is new.", user_group=USER_GROUP, new_user_group=True),
    },
    failures=[ID_MISSING, MAPPING_WRONG],
)

update_user_group = operation(
    operation_id="update_user_group",
    summary="Update a user group",
    description=(
        f"{FOUND} A field that is left out stays as it is; `mapping` and `properties` replace what is stored as a "
        "whole. There is never a new group: an unknown `user_group_id` answers 404. The answer is the group as it "
        "stands after the update, always with all six fields; keep its `token` to render embedded dashboards."
    ),
    tags=TAGS,
    body=(UserGroupUpdateSerializer, FIELDS),
    answers={200: answer(UserGroupEnvelope, "The group as it stands after the update.", user_group=USER_GROUP)},
    failures=[ID_MISSING, MAPPING_WRONG, UserGroupNotFound()],
)

delete_user_group = operation(
    operation_id="delete_user_group",
    summary="Delete a user group",
    description=f"{FOUND} Its bookmarks, collections and access tokens go with it.",
    tags=TAGS,
    query=UserGroupIdSerializer,
    answers={200: answer(Envelope, "The group is gone.")},
    failures=[ID_MISSING, UserGroupNotFound()],
)

rotate_user_group_token = operation(
    operation_id="rotate_user_group_token",
    summary="Give a user group a new token",
    description=f"{FOUND} Its old `token` is gone: dashboards need the new one.",
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
        "null: each group that stood at the start comes exactly once."
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
        "Up to 1,000 groups in a body of up to 8 MiB. Each item is what an update takes, but makes the group if there "
        "is none, as creating does. One bad item does not stop the rest: `results` has for each item, in order, the "
        "answer that it would have had as a call of its own, and the `status` of that."
    ),
    tags=TAGS,
    body=(UserGroupBatchSerializer, {"user_groups": [FIELDS, {**ID, "name": ""}]}),
    answers={
        200: answer(
            UserGroupBatchEnvelope,
            "What became of each item.",
            results=[
                {"status": 201, "success": 1, "user_group": USER_GROUP, "new_user_group": True},
                {"status": 400, **failure(ValidationError({"name": [ErrorDetail("This field is empty.", "blank")]}))},
            ],
        )
    },
    failures=[ValidationError({"user_groups": [ErrorDetail("This field is required.", "required")]})],
)
