"""What the bookmark operations can fail with besides the contract's own errors."""

from rest_framework.exceptions import ErrorDetail, ValidationError

COLLECTION_NOT_FOUND = "The user group has no collection with this id."


class CollectionNotFound(ValidationError):
    def __init__(self) -> None:
        super().__init__({"collection": [ErrorDetail(COLLECTION_NOT_FOUND, "does_not_exist")]})
