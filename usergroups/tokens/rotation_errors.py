"""API errors of the rotation of tokens."""

from math import ceil

from rest_framework.exceptions import APIException

from usergroups.api.errors import Explanation

from .models import MAX_ACTIVE_TOKENS, MAX_ROTATIONS, TooManyRotations


class AlreadyRotated(APIException):
    """The token has a successor that is used, or another call was faster."""

    status_code = 409
    default_code = "already_rotated"
    default_detail = (
        "The token already has a successor that was used, or has just been revoked."
    )


class TooManyTokensToRotate(APIException):
    """With its grace period, the rotated token would be one too many."""

    status_code = 409
    default_code = "too_many_tokens"
    default_detail = (
        f"The owner of the token already has {MAX_ACTIVE_TOKENS:,} active tokens. "
        "Rotate the token without a grace period, or revoke other tokens first."
    )


class TooManyRotationsOfToken(Explanation):
    """Calls rotate a token and its successors at most MAX_ROTATIONS times an
    hour.
    """

    status_code = 429
    default_code = "throttled"
    default_detail = (
        f"A token and its successors can be rotated {MAX_ROTATIONS} times an hour."
    )

    def __init__(self, cause: TooManyRotations) -> None:
        super().__init__(cause)
        # for the header Retry-After
        self.wait = ceil(cause.wait.total_seconds())
