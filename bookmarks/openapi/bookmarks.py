"""Documentation of the operations on bookmarks."""

from rest_framework.exceptions import ErrorDetail, ValidationError

from bookmarks.exceptions import BookmarkExists, BookmarkNotFound, InvalidCollection
from usergroups.openapi import USER_GROUP
from usergroups.tokens.documentation import INVALID_LIMIT, id_parameter, operation, page_query, success_response

BOOKMARK = {
    "id": "01930e7a-5b5c-7c42-9f8e-3a1d5b0c7e21",
    "url": "https://example.com/reports?year=2026",
    "title": "Reports of 2026",
    "collection": "01930e79-a1c0-7d3f-8b7a-2f4c6e8d0a13",
    "created_at": "2026-01-31T09:26:53.589793Z",
    "updated_at": "2026-01-31T09:26:53.589793Z",
}
FIELDS = {key: BOOKMARK[key] for key in ("url", "title", "collection")}

INVALID_URL = ValidationError({"url": [ErrorDetail("The URL has no scheme such as https://.", "invalid")]})

TAGS = ["Bookmarks"]
ID = id_parameter("The bookmark's `id`.", BOOKMARK["id"])

list_bookmarks = operation(
    operation_id="list_bookmarks",
    summary="List bookmarks",
    description=(
        "Lists the bookmarks of the access token's user group that match all filters. Request `next` "
        "until it is null: every bookmark that existed at the start is listed exactly once."
    ),
    tags=TAGS,
    query={
        **page_query(BOOKMARK["id"]),
        "collection": "",
        "url": BOOKMARK["url"],
        "created_since": BOOKMARK["created_at"],
        "updated_since": BOOKMARK["updated_at"],
        "q": "reports",
    },
    read_only=True,
    responses={200: success_response("A page of bookmarks.", bookmarks=[BOOKMARK], next=None, previous=None)},
    failures=[INVALID_LIMIT, InvalidCollection()],
)

create_bookmark = operation(
    operation_id="create_bookmark",
    summary="Create a bookmark",
    description=(
        "The bookmark belongs to the access token's user group, which is returned with it. If the user group already "
        "has a bookmark with this URL in the same collection (or, likewise, without a collection), that bookmark is "
        "returned unchanged with status 200. Two URLs are the same if the WHATWG URL Standard serializes them to the "
        "same text. The URL is stored exactly as sent and never fetched."
    ),
    tags=TAGS,
    request=FIELDS,
    tagged=True,
    responses={
        200: success_response("The bookmark already existed.", user_group=USER_GROUP, bookmark=BOOKMARK),
        201: success_response("The bookmark was created.", user_group=USER_GROUP, bookmark=BOOKMARK),
    },
    failures=[INVALID_URL, InvalidCollection()],
)

get_bookmark = operation(
    operation_id="get_bookmark",
    summary="Retrieve a bookmark",
    tags=TAGS,
    read_only=True,
    path=ID,
    tagged=True,
    responses={200: success_response("The bookmark.", bookmark=BOOKMARK)},
    failures=[BookmarkNotFound()],
)

update_bookmark = operation(
    operation_id="update_bookmark",
    summary="Update a bookmark",
    description="Changes the URL, the collection or the title. Omitted fields stay unchanged.",
    tags=TAGS,
    path=ID,
    request=FIELDS,
    tagged=True,
    conditional=True,
    responses={200: success_response("The updated bookmark.", bookmark=BOOKMARK)},
    failures=[INVALID_URL, InvalidCollection(), BookmarkNotFound(), BookmarkExists()],
)

delete_bookmark = operation(
    operation_id="delete_bookmark",
    summary="Delete a bookmark",
    tags=TAGS,
    path=ID,
    conditional=True,
    responses={200: success_response("The bookmark was deleted.")},
    failures=[BookmarkNotFound()],
)
