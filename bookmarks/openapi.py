"""The OpenAPI documentation of the bookmark operations, and of those on files
and access tokens.
"""

from functools import partial
from uuid import UUID

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import (
    OpenApiExample,
    OpenApiParameter,
    OpenApiRequest,
    OpenApiResponse,
)

from usergroups.api.errors import MissingField
from usergroups.api.openapi import (
    ETAG,
    IF_MATCH,
    LOCATION_OF_DUPLICATE,
    PROTECTED,
    header,
    operation,
)
from usergroups.api.throttling import TimeLimitExceeded
from usergroups.db.cascades import TooManyDependants
from usergroups.db.versions import Modified
from usergroups.models import UserGroup
from usergroups.tokens.models import TooManyTokens
from usergroups.tokens.openapi import DESCRIPTION, token_operation, token_rotation
from usergroups.tokens.serializers import DIGEST
from usergroups.user_group_errors import TooOld

from .bookmark_errors import UnreadableImport
from .files import ANY_FORMAT, EXPORT_FORMATS, MEDIA_TYPES, Record, write
from .models import AccessToken, Bookmark, Collection
from .owned_rows import Duplicate
from .serializers import (
    BOOKMARK_KEY,
    COLLECTION_KEY,
    ImportFailureSerializer,
)


def id_parameter(example: str) -> OpenApiParameter:
    """Document the id in the path."""
    examples = [OpenApiExample("Id", example)]
    return OpenApiParameter("id", str, "path", examples=examples)


# Of a bookmark, and of a collection.
DUPLICATE = Duplicate(UUID(BOOKMARK_KEY), ["collection"])

bookmark_operation = partial(operation, tags=["Bookmarks"])
BOOKMARK_ID = id_parameter(BOOKMARK_KEY)

list_bookmarks = bookmark_operation(
    "list_bookmarks",
    "List bookmarks",
    description=(
        "Lists the bookmarks of the access token's user group that match all filters, "
        "ordered by `created_at` or, with `updated_since`, by `updated_at`. "
        "Request `next` until it is null: every bookmark that existed at the start is "
        "listed exactly once, unless an import changes its date meanwhile, or it "
        "changes during a list with `updated_since`. A page ends before the text of "
        "its bookmarks exceeds 2 MiB, but has at least one bookmark."
    ),
)

create_bookmark = bookmark_operation(
    "create_bookmark",
    "Create a bookmark",
    statuses=[200, 201],
    description=(
        "The bookmark belongs to the access token's user group, which is returned with "
        "it. If the user group already has a bookmark with this URL in the same "
        "collection (or, likewise, without a collection), that bookmark is returned "
        "unchanged with status 200. Two URLs are the same if the WHATWG URL Standard "
        "serializes them to the same text. The URL is stored exactly as sent and "
        "never fetched."
    ),
    parameters=[ETAG],
)

get_bookmark = bookmark_operation(
    "get_bookmark",
    "Retrieve a bookmark",
    parameters=[BOOKMARK_ID, ETAG],
    errors=[Bookmark.DoesNotExist()],
)

update_bookmark = bookmark_operation(
    "update_bookmark",
    "Update a bookmark",
    description="Changes the given fields. Omitted fields stay unchanged.",
    parameters=[BOOKMARK_ID, IF_MATCH, ETAG, LOCATION_OF_DUPLICATE],
    errors=[
        Bookmark.DoesNotExist(),
        Modified(),
        DUPLICATE,
    ],
)

delete_bookmark = bookmark_operation(
    "delete_bookmark",
    "Delete a bookmark",
    parameters=[BOOKMARK_ID, IF_MATCH],
    errors=[Bookmark.DoesNotExist(), Modified(), PROTECTED],
)

create_bookmarks = bookmark_operation(
    "create_bookmarks",
    "Create many bookmarks",
    description=(
        "Takes up to 1,000 bookmarks in a body of up to 8 MiB. Each item has the "
        "fields of a single create request. An invalid item does not affect the "
        "others. `results` lists one result for each item, in the same order: the "
        "`status` and the body that a single create request would return, without the "
        "user group, and whether the item `changed` anything. With `update`, existing "
        "bookmarks get the titles, the tags and the notes that are sent for them."
    ),
)

delete_bookmarks = bookmark_operation(
    "delete_bookmarks",
    "Delete many bookmarks",
    description=(
        "Takes up to 1,000 ids. `results` lists one result for each id, in the same "
        "order: the `status` and the body that a single delete request would return."
    ),
)

lookup_bookmarks = bookmark_operation(
    "lookup_bookmarks",
    "Find the bookmarks of many URLs",
    description=(
        "Takes up to 1,000 URLs in a body of up to 8 MiB. `results` lists one result "
        "for each URL, in the same order: the `ids` of the user group's bookmarks with "
        "this URL, in any equivalent spelling. A read-only access token is sufficient."
    ),
)

move_bookmarks = bookmark_operation(
    "move_bookmarks",
    "Move many bookmarks",
    description=(
        "Takes up to 1,000 ids and moves the bookmarks to a collection, or out of "
        "their collections if `collection` is null. `results` lists one result for "
        "each id, in the same order: the `status` and the body that a single update "
        "request would return."
    ),
)

collection_operation = partial(operation, tags=["Collections"])
COLLECTION_ID = id_parameter(COLLECTION_KEY)

list_collections = collection_operation(
    "list_collections",
    "List collections",
    description=(
        "Lists the collections of the access token's user group, ordered by "
        "`created_at` or, with `updated_since`, by `updated_at`. Request `next` until "
        "it is null."
    ),
)

list_deletions = operation(
    "list_deletions",
    "List deletions",
    tags=["Bookmarks"],
    description=(
        "Lists which bookmarks and collections of the access token's user group were "
        "deleted, in whatever way, ordered by `deleted_at`. Request `next` until it is "
        "null. Deletions are listed for 90 days, unless the operator sets another time."
    ),
    errors=[TooOld()],
)

create_collection = collection_operation(
    "create_collection",
    "Create a collection",
    statuses=[201],
    parameters=[ETAG, LOCATION_OF_DUPLICATE],
    errors=[DUPLICATE],
)

get_collection = collection_operation(
    "get_collection",
    "Retrieve a collection",
    parameters=[COLLECTION_ID, ETAG],
    errors=[Collection.DoesNotExist()],
)

update_collection = collection_operation(
    "update_collection",
    "Rename a collection",
    parameters=[COLLECTION_ID, IF_MATCH, ETAG, LOCATION_OF_DUPLICATE],
    errors=[Collection.DoesNotExist(), Modified(), DUPLICATE],
)

delete_collection = collection_operation(
    "delete_collection",
    "Delete a collection",
    description=(
        "Its bookmarks are kept, without a collection. If bookmarks become duplicates, "
        "only the oldest is kept."
    ),
    parameters=[COLLECTION_ID, IF_MATCH],
    errors=[Collection.DoesNotExist(), Modified(), TooManyDependants(), PROTECTED],
)

list_tags = bookmark_operation(
    "list_tags",
    "List tags",
    description=(
        "Lists the tags of all bookmarks of the access token's user group, with the "
        "numbers of bookmarks, ordered by name."
    ),
    errors=[TimeLimitExceeded()],
)

rename_tag = bookmark_operation(
    "rename_tag",
    "Rename a tag",
    description=(
        "Renames a tag on all bookmarks of the access token's user group, or removes "
        "it. If the time of the call ends before, the response is 503: repeat the "
        "call, which continues."
    ),
    errors=[TimeLimitExceeded()],
)

file_operation = partial(operation, tags=["Files"])
FILE_NAME = header(
    "Content-Disposition", description="The name of the file.", response=[200]
)
EXPORTED = Record(
    1, "https://example.com/", "Example", created_at="2026-01-31T00:00:00.000000Z"
)
EXPORT_EXAMPLES = {
    MEDIA_TYPES[name]: b"".join(write([EXPORTED], name)).decode()
    for name in EXPORT_FORMATS
}
IMPORT_EXAMPLES = {
    **EXPORT_EXAMPLES,
    MEDIA_TYPES["xbel"]: '<xbel><bookmark href="https://example.com/"/></xbel>',
    MEDIA_TYPES["txt"]: "https://example.com/ | Example",
    ANY_FORMAT: '[{"href": "https://example.com/", "description": "Example"}]',
}

import_bookmarks = file_operation(
    "import_bookmarks",
    "Import a file",
    description=(
        "Takes a file of a browser, of another service or of an export as the body. "
        "The format is that of the Content-Type, which may also be "
        "`application/json`, `application/x-ndjson`, `application/jsonlines` or "
        "`text/markdown`. With "
        "`format`, the body may have any Content-Type. Its `charset` names the file's "
        "encoding. Existing bookmarks are not changed without `update`, so the same "
        "file can be imported again after any error. An invalid record does not "
        "affect the others, but without any valid one the response is an error, with "
        "the report. The body may be a ZIP with one file.\n\nThe size of the "
        "body is limited, and so is that of the file in a ZIP. Send a larger file in "
        "parts of JSON Lines. So is the time: the report's `stopped_at` is the place "
        "at which an import ended because of it."
    ),
    request={
        media_type: OpenApiRequest(
            OpenApiTypes.BINARY, examples=[OpenApiExample("File", text)]
        )
        for media_type, text in IMPORT_EXAMPLES.items()
    },
    errors=[
        MissingField("format"),
        UnreadableImport(
            "No bookmarks found. The file looks like CSV. Import it in the format csv."
        ),
    ],
    failure_serializer=ImportFailureSerializer,
)

export_bookmarks = file_operation(
    "export_bookmarks",
    "Export a file",
    description=(
        "Returns the bookmarks of the user group, of one of its collections, or in no "
        "collection, as a file in UTF-8: ordered by collection, the oldest first, "
        "beginning with those in no collection. An import of it into an empty user "
        "group restores the bookmarks, their collections and the order of both. If the "
        "last record has no URL, the export is not complete: continue it with its date "
        "as `created_since`."
    ),
    parameters=[FILE_NAME],
    statuses=[],
    files={
        (200, media_type): OpenApiResponse(
            OpenApiTypes.BINARY,
            "The file.",
            [OpenApiExample("File", text, media_type=media_type)],
        )
        for media_type, text in EXPORT_EXAMPLES.items()
    },
    errors=[TimeLimitExceeded()],
)

access_token_operation = partial(operation, tags=["Access tokens"])
ACCESS_TOKEN_ID = id_parameter(DIGEST)

get_access_token = token_operation(
    "get_access_token",
    "Describe the access token",
    description=DESCRIPTION,
)

rotate_access_token = token_rotation("rotate_access_token", "Rotate the access token")

list_access_tokens = access_token_operation(
    "list_access_tokens",
    "List access tokens",
    description=(
        "Lists the access tokens of a user group, including expired and revoked ones, "
        "without their secrets."
    ),
    errors=[UserGroup.DoesNotExist()],
)

issue_access_token = access_token_operation(
    "issue_access_token",
    "Issue an access token",
    statuses=[201],
    description=(
        "Issues an access token, which gives access to the bookmarks and collections "
        "of the user group. Only this response has its `secret`. A user group has at "
        "most 1,000 tokens that are neither expired nor revoked."
    ),
    errors=[UserGroup.DoesNotExist(), TooManyTokens()],
)

revoke_access_token = access_token_operation(
    "revoke_access_token",
    "Revoke an access token",
    description=(
        "Revokes the token permanently. Revoking it again changes nothing. If the "
        "token was rotated, its successor remains, because programs take the new token "
        "before the old one is revoked: `successor` is its id. To revoke a leaked "
        "token, send `successors=true`: `revoked` then lists the ids of all tokens "
        "that descend from it as well."
    ),
    parameters=[ACCESS_TOKEN_ID],
    errors=[AccessToken.DoesNotExist()],
)

issue_access_tokens = access_token_operation(
    "issue_access_tokens",
    "Issue many access tokens",
    description=(
        "Issues an access token for each of up to 1,000 user groups, all with the same "
        "name, rights and lifetime. A user group that is listed twice gets two tokens. "
        "`results` lists one result for each user group, in the same order: the "
        "`status` and the body that a single request would return. Only this response "
        "has the secrets."
    ),
)

revoke_access_tokens = access_token_operation(
    "revoke_access_tokens",
    "Revoke many access tokens",
    description=(
        "Revokes up to 1,000 access tokens permanently, and with `successors` all that "
        "descend from them by rotation. `results` lists one result for "
        "each id, in the same order: the `status` and the body that a single request "
        "would return."
    ),
)

list_team_access_tokens = access_token_operation(
    "list_team_access_tokens",
    "List the access tokens of all user groups",
    description=(
        "Lists the access tokens of all user groups of the API token's team in the API "
        "token's environment, including expired and revoked ones, without their "
        "secrets."
    ),
)
