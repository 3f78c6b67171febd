"""Documentation of the operations on many bookmarks."""

from bookmarks.exceptions import BookmarkExists, BookmarkNotFound, InvalidCollection
from usergroups.contract import batch
from usergroups.openapi import USER_GROUP
from usergroups.tokens.documentation import missing, operation, success_response

from .bookmarks import BOOKMARK, FIELDS, INVALID_URL, TAGS

IDS = [BOOKMARK["id"], "01930e7a-0000-7000-8000-000000000000"]


create_bookmarks = operation(
    operation_id="create_bookmarks",
    summary="Create many bookmarks",
    description=(
        "Takes up to 1,000 bookmarks in a body of up to 8 MiB. Each item has the fields of a single create request. "
        "An invalid item does not affect the others: `results` has, for each item in order, the response and the "
        "`status` of a single create request, without the user group."
    ),
    tags=TAGS,
    request={"bookmarks": [FIELDS, {"url": "example.com"}]},
    responses={
        200: success_response(
            "The result of each item.",
            user_group=USER_GROUP,
            results=[
                {"status": 201, "success": 1, "bookmark": BOOKMARK},
                batch.failed(INVALID_URL).result,
            ],
        )
    },
    failures=[missing("bookmarks")],
)

delete_bookmarks = operation(
    operation_id="delete_bookmarks",
    summary="Delete many bookmarks",
    description=(
        "Takes up to 1,000 ids. `results` has, for each id in order, the response and the `status` of a single delete "
        "request."
    ),
    tags=TAGS,
    request={"ids": IDS},
    responses={
        200: success_response(
            "The result of each id.",
            results=[{"status": 200, "success": 1}, batch.failed(BookmarkNotFound()).result],
        )
    },
    failures=[missing("ids")],
)

move_bookmarks = operation(
    operation_id="move_bookmarks",
    summary="Move many bookmarks",
    description=(
        "Takes up to 1,000 ids and moves the bookmarks to a collection, or out of their collections if `collection` is "
        "null. `results` has, for each id in order, the response and the `status` of a single update request."
    ),
    tags=TAGS,
    request={"ids": IDS, "collection": BOOKMARK["collection"]},
    responses={
        200: success_response(
            "The result of each id.",
            results=[{"status": 200, "success": 1, "bookmark": BOOKMARK}, batch.failed(BookmarkExists()).result],
        )
    },
    failures=[missing("ids"), InvalidCollection()],
)
