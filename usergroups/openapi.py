"""The user group operations in the OpenAPI document."""

from drf_spectacular.utils import OpenApiExample, OpenApiResponse
from rest_framework.exceptions import ErrorDetail, ValidationError

from .contract.openapi import operation
from .exceptions import UserGroupNotFound
from .serializers import UserGroupEnvelope, UserGroupUpdateSerializer

USER_GROUP = {
    "team_id": 3,
    "token": "ugt_9vUXkqoz4PJYbnLx6D0ScHweRaT1mGi27yhQKd",
    "name": "Example 1",
    "provided_id": "example_1",
    "properties": {"plan": "pro", "region": "EU"},
    "api_environment_tag": "Customer",
}

update_user_group = operation(
    operation_id="update_user_group",
    summary="Update a user group",
    description=(
        "The group is found by the API token's team, the API token's environment and `user_group_id`. A field that "
        "is left out stays as it is; `mapping` and `properties` replace what is stored as a whole. There is "
        "never a new group: an unknown `user_group_id` answers 404. The answer is the group as it stands after "
        "the update, always with all six fields; keep its `token` to render embedded dashboards."
    ),
    tags=["User groups"],
    request=UserGroupUpdateSerializer,
    responses={
        200: OpenApiResponse(UserGroupEnvelope, "The group as it stands after the update."),
    },
    failures=[
        ValidationError({"user_group_id": [ErrorDetail("This field is required.", "required")]}),
        ValidationError({"mapping": {"40": [ErrorDetail("Not a string or an integer.", "invalid")]}}),
        UserGroupNotFound(),
    ],
    examples=[
        OpenApiExample(
            "Update",
            {
                "user_group_id": "example_1",
                "name": "Example 1",
                "mapping": {"40": "warehouse_eu", "41": 113},
                "properties": {"plan": "pro", "region": "EU"},
            },
            request_only=True,
        ),
        OpenApiExample(
            "Updated",
            {
                "success": 1,
                "user_group": USER_GROUP,
            },
            response_only=True,
            status_codes=[200],
        ),
    ],
)
