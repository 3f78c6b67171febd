"""The OpenAPI documentation of the bookmark operations, and of those on files
and access tokens.
"""

from functools import partial
from typing import Any
from uuid import UUID

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiExample, OpenApiRequest, OpenApiResponse
from rest_framework.exceptions import ErrorDetail, ValidationError

from usergroups.api import batches
from usergroups.api.errors import MissingField
from usergroups.api.limits import TimeLimitExceeded
from usergroups.api.openapi import (
    ETAG,
    IF_MATCH,
    PROTECTED,
    id_parameter,
    operation,
    page_query,
    page_response,
    response_header,
    success_response,
)
from usergroups.db.cascades import TooManyDependants
from usergroups.models import UserGroup
from usergroups.openapi import (
    ID_MISSING,
    INVALID_LIMIT,
    RECORD_ID,
    SINCE,
    USER_GROUP,
)
from usergroups.tokens.models import TooManyTokens
from usergroups.tokens.openapi import (
    DESCRIPTION,
    TOKEN,
    describe_rotation,
    token_operation,
)
from usergroups.user_group_errors import TooOld, UserGroupNotFound

from . import bookmark_errors
from .files import ANY_FORMAT, EXPORT_FORMATS, MEDIA_TYPES, Record, write
from .models import AccessToken, Bookmark, Collection
from .owned_rows import Duplicate
from .serializers import (
    AccessTokenListQuery,
    BookmarkDeletionListQuery,
    BookmarkListQuery,
    CollectionListQuery,
    ImportFailureSerializer,
    TeamAccessTokenListQuery,
)
from .web_url import NO_SCHEME

BOOKMARK: dict[str, Any] = {
    "id": "01930e7a-5b5c-7c42-9f8e-3a1d5b0c7e21",
    "url": "https://example.com/reports?year=2026",
    "title": "Reports of 2026",
    "tags": ["reports", "to read"],
    "note": "The figures of the third quarter are on page 12.",
    "collection": "01930e79-a1c0-7d3f-8b7a-2f4c6e8d0a13",
    "created_at": "2026-01-31T09:26:53.589793Z",
    "updated_at": "2026-01-31T09:26:53.589793Z",
}
FIELDS = {
    "url": BOOKMARK["url"],
    "title": BOOKMARK["title"],
    "tags": BOOKMARK["tags"],
    "note": BOOKMARK["note"],
    "collection": BOOKMARK["collection"],
}

BOOKMARK_EXISTS = Duplicate(UUID(BOOKMARK["id"]), ["collection"])
INVALID_URL = ValidationError({"url": [ErrorDetail(NO_SCHEME, "invalid")]})

bookmark_operation = partial(operation, tags=["Bookmarks"])
BOOKMARK_ID = id_parameter("The bookmark's `id`.", BOOKMARK["id"])

list_bookmarks = bookmark_operation(
    "list_bookmarks",
    summary="List bookmarks",
    description=(
        "Lists the bookmarks of the access token's user group that match all filters, "
        "ordered by `created_at` or, with `updated_since`, by `updated_at`. "
        "Request `next` until it is null: every bookmark that existed at the start is "
        "listed exactly once, unless an import changes its date meanwhile, or it "
        "changes during a list with `updated_since`. A page ends before the text of "
        "its bookmarks exceeds 2 MiB, but has at least one bookmark."
    ),
    query=page_query(
        BookmarkListQuery,
        BOOKMARK["id"],
        collection="",  # lists the bookmarks in no collection
        url=BOOKMARK["url"],
        created_since=BOOKMARK["created_at"],
        updated_since=BOOKMARK["updated_at"],
        q="reports",
        tag=["reports"],
    ),
    responses={200: page_response("A page of bookmarks.", bookmarks=[BOOKMARK])},
    errors=[INVALID_LIMIT, bookmark_errors.InvalidCollection()],
)

create_bookmark = bookmark_operation(
    "create_bookmark",
    summary="Create a bookmark",
    description=(
        "The bookmark belongs to the access token's user group, which is returned with "
        "it. If the user group already has a bookmark with this URL in the same "
        "collection (or, likewise, without a collection), that bookmark is returned "
        "unchanged with status 200. Two URLs are the same if the WHATWG URL Standard "
        "serializes them to the same text. The URL is stored exactly as sent and "
        "never fetched."
    ),
    parameters=[ETAG],
    body=FIELDS,
    responses={
        200: success_response(
            "The bookmark already existed.", user_group=USER_GROUP, bookmark=BOOKMARK
        ),
        201: success_response(
            "The bookmark was created.", user_group=USER_GROUP, bookmark=BOOKMARK
        ),
    },
    errors=[INVALID_URL, bookmark_errors.InvalidCollection()],
)

get_bookmark = bookmark_operation(
    "get_bookmark",
    summary="Retrieve a bookmark",
    parameters=[BOOKMARK_ID, ETAG],
    responses={200: success_response("The bookmark.", bookmark=BOOKMARK)},
    errors=[Bookmark.DoesNotExist()],
)

update_bookmark = bookmark_operation(
    "update_bookmark",
    summary="Update a bookmark",
    description="Changes the given fields. Omitted fields stay unchanged.",
    parameters=[BOOKMARK_ID, IF_MATCH, ETAG],
    body=FIELDS,
    responses={200: success_response("The updated bookmark.", bookmark=BOOKMARK)},
    errors=[
        INVALID_URL,
        bookmark_errors.InvalidCollection(),
        Bookmark.DoesNotExist(),
        BOOKMARK_EXISTS,
    ],
)

delete_bookmark = bookmark_operation(
    "delete_bookmark",
    summary="Delete a bookmark",
    parameters=[BOOKMARK_ID, IF_MATCH],
    responses={200: success_response("The bookmark was deleted.")},
    errors=[Bookmark.DoesNotExist(), PROTECTED],
)

IDS = [BOOKMARK["id"], "01930e7a-0000-7000-8000-000000000000"]
DELETED = {"status": 200, "success": 1, "changed": True}
MOVED = {**DELETED, "updated_at": BOOKMARK["updated_at"], "bookmark": BOOKMARK}
CREATED = {**MOVED, "status": 201}
NOTHING_CHANGED = {"changed": False}
INVALID = {**batches.FailedItem(INVALID_URL), **NOTHING_CHANGED}
NOT_FOUND = {
    **batches.FailedItem(bookmark_errors.BookmarkNotFound()),
    **NOTHING_CHANGED,
}
DUPLICATE = {
    **batches.FailedItem(bookmark_errors.BookmarkExists(BOOKMARK_EXISTS)),
    **NOTHING_CHANGED,
}

create_bookmarks = bookmark_operation(
    "create_bookmarks",
    summary="Create many bookmarks",
    description=(
        "Takes up to 1,000 bookmarks in a body of up to 8 MiB. Each item has the "
        "fields of a single create request. An invalid item does not affect the "
        "others. `results` lists one result for each item, in the same order: the "
        "`status` and the body that a single create request would return, without the "
        "user group, and whether the item `changed` anything. With `update`, existing "
        "bookmarks get the titles, the tags and the notes that are sent for them."
    ),
    body={"bookmarks": [FIELDS, {"url": "example.com"}], "update": True},
    responses={
        200: success_response(
            "The result of each item.",
            user_group=USER_GROUP,
            results=[CREATED, INVALID],
        )
    },
    errors=[MissingField("bookmarks")],
)

delete_bookmarks = bookmark_operation(
    "delete_bookmarks",
    summary="Delete many bookmarks",
    description=(
        "Takes up to 1,000 ids. `results` lists one result for each id, in the same "
        "order: the `status` and the body that a single delete request would return."
    ),
    body={"ids": IDS},
    responses={
        200: success_response("The result of each id.", results=[DELETED, NOT_FOUND])
    },
    errors=[MissingField("ids")],
)

lookup_bookmarks = bookmark_operation(
    "lookup_bookmarks",
    summary="Find the bookmarks of many URLs",
    description=(
        "Takes up to 1,000 URLs in a body of up to 8 MiB. `results` lists one result "
        "for each URL, in the same order: the `ids` of the user group's bookmarks with "
        "this URL, in any equivalent spelling. A read-only access token is sufficient."
    ),
    body={"urls": [FIELDS["url"], "example.com"]},
    responses={
        200: success_response(
            "The result of each URL.",
            results=[
                {"status": 200, "success": 1, "ids": [BOOKMARK["id"]]},
                batches.FailedItem(
                    ValidationError([ErrorDetail(NO_SCHEME, "invalid")])
                ),
            ],
        )
    },
    errors=[MissingField("urls")],
)

move_bookmarks = bookmark_operation(
    "move_bookmarks",
    summary="Move many bookmarks",
    description=(
        "Takes up to 1,000 ids and moves the bookmarks to a collection, or out of "
        "their collections if `collection` is null. `results` lists one result for "
        "each id, in the same order: the `status` and the body that a single update "
        "request would return."
    ),
    body={"ids": IDS, "collection": BOOKMARK["collection"]},
    responses={
        200: success_response("The result of each id.", results=[MOVED, DUPLICATE])
    },
    errors=[MissingField("ids"), bookmark_errors.InvalidCollection()],
)

COLLECTION = {
    "id": "01930e79-a1c0-7d3f-8b7a-2f4c6e8d0a13",
    "name": "Reading list",
    "created_at": "2026-01-31T09:26:10.112233Z",
    "updated_at": "2026-01-31T09:26:10.112233Z",
}

COLLECTION_EXISTS = Duplicate(UUID(COLLECTION["id"]), ["name"])

collection_operation = partial(operation, tags=["Collections"])
COLLECTION_ID = id_parameter("The collection's `id`.", COLLECTION["id"])

list_collections = collection_operation(
    "list_collections",
    summary="List collections",
    description=(
        "Lists the collections of the access token's user group, ordered by "
        "`created_at` or, with `updated_since`, by `updated_at`. Request `next` until "
        "it is null."
    ),
    query=page_query(
        CollectionListQuery,
        COLLECTION["id"],
        name=COLLECTION["name"],
        updated_since=COLLECTION["updated_at"],
    ),
    responses={200: page_response("A page of collections.", collections=[COLLECTION])},
    errors=[INVALID_LIMIT],
)

list_deletions = operation(
    "list_deletions",
    tags=["Bookmarks"],
    summary="List deletions",
    description=(
        "Lists which bookmarks and collections of the access token's user group were "
        "deleted, in whatever way, ordered by `deleted_at`. Request `next` until it is "
        "null. Deletions are listed for 90 days, unless the operator sets another time."
    ),
    query=page_query(BookmarkDeletionListQuery, RECORD_ID, since=SINCE),
    responses={
        200: page_response(
            "A page of deletions.",
            deletions=[
                {
                    "type": "bookmark",
                    "id": BOOKMARK["id"],
                    "deleted_at": "2026-01-31T09:26:53.589793Z",
                }
            ],
        )
    },
    errors=[MissingField("since"), TooOld()],
)

create_collection = collection_operation(
    "create_collection",
    summary="Create a collection",
    parameters=[ETAG],
    body={"name": COLLECTION["name"]},
    responses={
        201: success_response("The collection was created.", collection=COLLECTION)
    },
    errors=[MissingField("name"), COLLECTION_EXISTS],
)

get_collection = collection_operation(
    "get_collection",
    summary="Retrieve a collection",
    parameters=[COLLECTION_ID, ETAG],
    responses={200: success_response("The collection.", collection=COLLECTION)},
    errors=[Collection.DoesNotExist()],
)

update_collection = collection_operation(
    "update_collection",
    summary="Rename a collection",
    parameters=[COLLECTION_ID, IF_MATCH, ETAG],
    body={"name": COLLECTION["name"]},
    responses={200: success_response("The updated collection.", collection=COLLECTION)},
    errors=[
        Collection.DoesNotExist(),
        COLLECTION_EXISTS,
    ],
)

delete_collection = collection_operation(
    "delete_collection",
    summary="Delete a collection",
    description=(
        "Its bookmarks are kept, without a collection. If bookmarks become duplicates, "
        "only the oldest is kept."
    ),
    parameters=[COLLECTION_ID, IF_MATCH],
    responses={200: success_response("The collection was deleted.")},
    errors=[Collection.DoesNotExist(), TooManyDependants(), PROTECTED],
)

file_operation = partial(operation, tags=["Files"])
FILE_NAME = response_header("Content-Disposition", "The name of the file.", [200])
INVALID_FORMAT = ValidationError(
    {"format": [ErrorDetail('"xml" is not a valid choice.', "invalid_choice")]}
)
REPORT = {
    "created": 1204,
    "updated": 0,
    "existing": 31,
    "collections": 2,
    "refused": 1,
    "refusals": [
        {"line": 88, "url": "example.com", "title": "Example", "reason": NO_SCHEME}
    ],
    "unusable_dates": 2,
    "shortened": 0,
    "error": None,
    "stopped_at": None,
}

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
    summary="Import a file",
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
    query={"format": "html", "collection": COLLECTION["id"], "update": False},
    request={
        media_type: OpenApiRequest(
            OpenApiTypes.BINARY, examples=[OpenApiExample("File", text)]
        )
        for media_type, text in IMPORT_EXAMPLES.items()
    },
    responses={200: success_response("What was imported.", report=REPORT)},
    errors=[
        INVALID_FORMAT,
        MissingField("format"),
        bookmark_errors.InvalidCollection(),
        bookmark_errors.UnreadableImport(
            "No bookmarks found. The file looks like CSV. Import it in the format csv."
        ),
    ],
    failures={400: ImportFailureSerializer},
)

export_bookmarks = file_operation(
    "export_bookmarks",
    summary="Export a file",
    description=(
        "Returns the bookmarks of the user group, of one of its collections, or in no "
        "collection, as a file in UTF-8: ordered by collection, the oldest first, "
        "beginning with those in no collection. An import of it into an empty user "
        "group restores the bookmarks, their collections and the order of both. If the "
        "last record has no URL, the export is not complete: continue it with its date "
        "as `created_since`."
    ),
    parameters=[FILE_NAME],
    query={
        "format": "html",
        "collection": COLLECTION["id"],
        "created_since": BOOKMARK["created_at"],
    },
    responses={
        (200, media_type): OpenApiResponse(
            OpenApiTypes.BINARY,
            "The file.",
            [OpenApiExample("File", text, media_type=media_type)],
        )
        for media_type, text in EXPORT_EXAMPLES.items()
    },
    errors=[INVALID_FORMAT, bookmark_errors.InvalidCollection(), TimeLimitExceeded()],
)

ACCESS_TOKEN: dict[str, Any] = {
    "id": "9b1d8c0f5f0a4e6d8a7b6c5d4e3f2a1b0c9d8e7f6a5b4c3d2e1f0a9b8c7d6e5f",
    "name": "Browser extension",
    "hint": "bma_4Hk6",
    "read_only": False,
    "created_at": "2026-01-31T09:26:53.589793Z",
    "expires_at": "2026-03-02T09:26:53.589793Z",
    "revoked_at": None,
    "last_used_at": None,
}
SECRET = "bma_4Hk6yLq0ZxWv9TnS2cBd8RfGj5MpUe3oKa1QhXw7"  # noqa: S105  # an example

access_token_operation = partial(operation, tags=["Access tokens"])
ACCESS_TOKEN_ID = id_parameter("The access token's `id`.", ACCESS_TOKEN["id"])

get_access_token = token_operation(
    "get_access_token",
    summary="Describe the access token",
    description=DESCRIPTION,
    responses={
        200: success_response(
            "The token, with its user group.", token=TOKEN, user_group=USER_GROUP
        )
    },
)

rotate_access_token = describe_rotation(
    "rotate_access_token", "Rotate the access token", SECRET
)

list_access_tokens = access_token_operation(
    "list_access_tokens",
    summary="List access tokens",
    description=(
        "Lists the access tokens of a user group, including expired and revoked ones, "
        "without their secrets."
    ),
    query=page_query(
        AccessTokenListQuery,
        bytes.fromhex(ACCESS_TOKEN["id"]),
        user_group_id="example_1",
    ),
    responses={
        200: page_response("A page of access tokens.", access_tokens=[ACCESS_TOKEN])
    },
    errors=[ID_MISSING, INVALID_LIMIT, UserGroup.DoesNotExist()],
)

issue_access_token = access_token_operation(
    "issue_access_token",
    summary="Issue an access token",
    description=(
        "Issues an access token, which gives access to the bookmarks and collections "
        "of the user group. Only this response has its `secret`. A user group has at "
        "most 1,000 tokens that are neither expired nor revoked."
    ),
    body={
        "user_group_id": "example_1",
        "name": ACCESS_TOKEN["name"],
        "read_only": False,
        "expires_in": 2_592_000,
    },
    responses={
        201: success_response(
            "The access token was issued.",
            access_token={**ACCESS_TOKEN, "secret": SECRET},
        )
    },
    errors=[ID_MISSING, UserGroup.DoesNotExist(), TooManyTokens()],
)

revoke_access_token = access_token_operation(
    "revoke_access_token",
    summary="Revoke an access token",
    description="Revokes the token permanently. Revoking it again changes nothing.",
    parameters=[ACCESS_TOKEN_ID],
    responses={200: success_response("The access token is revoked.")},
    errors=[AccessToken.DoesNotExist()],
)

NEW_ACCESS_TOKEN = {**ACCESS_TOKEN, "secret": SECRET}

issue_access_tokens = access_token_operation(
    "issue_access_tokens",
    summary="Issue many access tokens",
    description=(
        "Issues an access token for each of up to 1,000 user groups, all with the same "
        "name, rights and lifetime. A user group that is listed twice gets two tokens. "
        "`results` lists one result for each user group, in the same order: the "
        "`status` and the body that a single request would return. Only this response "
        "has the secrets."
    ),
    body={
        "user_group_ids": ["example_1", "unknown"],
        "name": ACCESS_TOKEN["name"],
        "read_only": False,
        "expires_in": 2_592_000,
    },
    responses={
        200: success_response(
            "The result of each user group.",
            results=[
                {
                    "status": 201,
                    "success": 1,
                    "changed": True,
                    "access_token": NEW_ACCESS_TOKEN,
                },
                {**batches.FailedItem(UserGroupNotFound()), **NOTHING_CHANGED},
            ],
        )
    },
    errors=[MissingField("user_group_ids")],
)

revoke_access_tokens = access_token_operation(
    "revoke_access_tokens",
    summary="Revoke many access tokens",
    description=(
        "Revokes up to 1,000 access tokens permanently. `results` lists one result for "
        "each id, in the same order: the `status` and the body that a single request "
        "would return."
    ),
    body={"ids": [ACCESS_TOKEN["id"], "unknown"]},
    responses={
        200: success_response(
            "The result of each id.",
            results=[
                {"status": 200, "success": 1, "changed": True},
                {
                    **batches.FailedItem(bookmark_errors.AccessTokenNotFound()),
                    **NOTHING_CHANGED,
                },
            ],
        )
    },
    errors=[MissingField("ids")],
)

list_team_access_tokens = access_token_operation(
    "list_team_access_tokens",
    summary="List the access tokens of all user groups",
    description=(
        "Lists the access tokens of all user groups of the API token's team in the API "
        "token's environment, including expired and revoked ones, without their "
        "secrets."
    ),
    query=page_query(
        TeamAccessTokenListQuery,
        bytes.fromhex(ACCESS_TOKEN["id"]),
        expires_before=ACCESS_TOKEN["expires_at"],
    ),
    responses={
        200: page_response(
            "A page of access tokens.",
            access_tokens=[{**ACCESS_TOKEN, "user_group_id": "example_1"}],
        )
    },
    errors=[INVALID_LIMIT],
)
