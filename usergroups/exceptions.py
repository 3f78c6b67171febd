"""What the user group operations can fail with besides the contract's own errors."""

from rest_framework.exceptions import NotFound


class UserGroupNotFound(NotFound):
    default_code = "user_group_not_found"
    default_detail = "The token's team has no user group with this id in the token's environment."
