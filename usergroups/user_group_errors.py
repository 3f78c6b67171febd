"""API errors of the user group operations."""

from rest_framework.exceptions import APIException, NotFound

from .db.cascades import MAX_DEPENDANTS


class UserGroupNotFound(NotFound):
    default_code = "user_group_not_found"
    default_detail = (
        "The team of the API token has no user group with this id in the environment "
        "of the token."
    )


class UnknownUserGroupToken(UserGroupNotFound):
    default_detail = (
        "The team of the API token has no user group with this token in the "
        "environment of the API token."
    )


class TooLargeToDelete(APIException):
    """More objects belong to an object than can be deleted while the client
    waits.
    """

    status_code = 409
    default_code = "too_large_to_delete"
    default_detail = (
        f"More than {MAX_DEPENDANTS:,} objects belong to this one. Delete some of them "
        "first."
    )


class TooOld(APIException):
    """Deletions since a time that is longer ago than they are listed."""

    status_code = 410
    default_code = "too_old"
    default_detail = (
        "Deletions are not listed for that long. List all objects, and compare their "
        "ids with yours."
    )
