"""API errors of the bookmark operations."""

from django.utils.translation import gettext_lazy as _
from rest_framework.exceptions import (
    APIException,
    NotFound,
    ValidationError,
)

from usergroups.api.errors import Explanation
from usergroups.tokens.models import MAX_ACTIVE_TOKENS

from .owned_rows import Duplicate

NO_SUCH_COLLECTION = "The user group has no collection with this id."
IN_FUTURE = "The time is in the future."
# the admin shows it as well
BOOKMARK_EXISTS = _("A bookmark with this URL already exists in the same collection.")


class BookmarkNotFound(NotFound):
    default_code = "bookmark_not_found"
    default_detail = "The user group has no bookmark with this id."


class CollectionNotFound(NotFound):
    default_code = "collection_not_found"
    default_detail = NO_SUCH_COLLECTION


class TooManyBookmarksFound(APIException):
    status_code = 413
    default_code = "payload_too_large"
    default_detail = (
        "These URLs have more than 100,000 bookmarks. Send fewer URLs at once, or list "
        "the bookmarks of each."
    )


class AccessTokenNotFound(NotFound):
    default_code = "access_token_not_found"
    default_detail = "No user group of the API token has an access token with this id."


class TooManyAccessTokens(APIException):
    status_code = 409
    default_code = "too_many_tokens"
    default_detail = (
        f"The user group already has {MAX_ACTIVE_TOKENS:,} active access tokens. "
        "Revoke some of them first."
    )


class InvalidCollection(ValidationError):
    """A field of the request refers to a collection that does not exist."""

    def __init__(self) -> None:
        super().__init__({"collection": [NO_SUCH_COLLECTION]}, "does_not_exist")


class UnreadableImport(APIException):
    """No bookmarks can be read from a file."""

    status_code = 400
    default_code = "unreadable_file"
    default_detail = "All records in the file were refused. The report has the reasons."


class AlreadyExists(Explanation):
    """The change would create a duplicate.

    ``existing`` is the id of the existing object, and ``location`` (a response
    header) its path.
    """

    status_code = 409
    default_code = "already_exists"
    location: str | None = None

    def __init__(self, cause: Duplicate) -> None:
        super().__init__(cause, {self.field_of(cause): [str(self.default_detail)]})
        self.existing = str(cause.key)

    def field_of(self, duplicate: Duplicate) -> str:
        """Return the name of the field whose value would be a duplicate."""
        raise NotImplementedError


class BookmarkExists(AlreadyExists):
    default_detail = BOOKMARK_EXISTS

    def field_of(self, duplicate: Duplicate) -> str:
        return "url" if "url" in duplicate.changed else "collection"


class CollectionExists(AlreadyExists):
    default_detail = "The user group already has a collection with this name."

    def field_of(self, duplicate: Duplicate) -> str:
        return "name"
