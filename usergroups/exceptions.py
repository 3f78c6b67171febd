"""API errors of the user group operations."""

from rest_framework.exceptions import APIException, NotFound


class UserGroupNotFound(NotFound):
    default_code = "user_group_not_found"
    default_detail = "The team of the API token has no user group with this id in the environment of the token."


class UnknownUserGroupToken(UserGroupNotFound):
    default_detail = "The team of the API token has no user group with this token in the environment of the API token."


class ResponseTooLarge(APIException):
    status_code = 413
    default_code = "payload_too_large"

    def __init__(self, limit: int) -> None:
        super().__init__(
            f"The user groups of this batch have more than {limit} characters of JSON. Send fewer user groups at once."
        )
