"""Bookmarks in the OpenAPI document."""

from drf_spectacular.utils import OpenApiParameter
from rest_framework.exceptions import ErrorDetail, ValidationError

from bookmarks.exceptions import BookmarkExists, BookmarkNotFound, CollectionDoesNotExist
from bookmarks.serializers import (
    BookmarkBatchEnvelope,
    BookmarkBatchSerializer,
    BookmarkCreateSerializer,
    BookmarkEnvelope,
    BookmarkListEnvelope,
    BookmarkListQuery,
    BookmarkUpdateSerializer,
    NewBookmarkEnvelope,
)
from usergroups.contract.errors import failure
from usergroups.contract.fields import Envelope
from usergroups.contract.openapi import LIMIT_WRONG, answer, operation
from usergroups.openapi import USER_GROUP

BOOKMARK = {
    "id": "01930e7a-5b5c-7c42-9f8e-3a1d5b0c7e21",
    "url": "https://example.com/reports?year=2026",
    "title": "Reports of 2026",
    "collection": "01930e79-a1c0-7d3f-8b7a-2f4c6e8d0a13",
    "created_at": "2026-01-31T09:26:53.589793Z",
}
FIELDS = {key: BOOKMARK[key] for key in ("url", "title", "collection")}

URL_WRONG = ValidationError({"url": [ErrorDetail("Not an absolute http or https URL.", "invalid")]})

TAGS = ["Bookmarks"]
ID = OpenApiParameter("public_id", str, "path", description="The bookmark's `id`.")

list_bookmarks = operation(
    operation_id="list_bookmarks",
    summary="List bookmarks",
    description=(
        "The bookmarks of the access token's user group that pass all filters, newest first. Follow `next` until it "
        "is null: each bookmark that stood at the start comes exactly once."
    ),
    tags=TAGS,
    read_only=True,
    query=BookmarkListQuery,
    answers={200: answer(BookmarkListEnvelope, "A page of bookmarks.", bookmarks=[BOOKMARK], next=None, previous=None)},
    failures=[LIMIT_WRONG, CollectionDoesNotExist()],
)

create_bookmark = operation(
    operation_id="create_bookmark",
    summary="Create a bookmark",
    description=(
        "The bookmark belongs to the access token's user group, which the answer shows beside it. A URL that the "
        "group has in the same collection already, or likewise in none, is not stored twice: the answer is then "
        "200 and the bookmark that is there, unchanged. Two URLs are the same if the WHATWG URL Standard serialises "
        "both to the same text. The URL is kept as it was sent and never fetched."
    ),
    tags=TAGS,
    body=(BookmarkCreateSerializer, FIELDS),
    answers={
        200: answer(
            NewBookmarkEnvelope, "The group has this bookmark already.", user_group=USER_GROUP, bookmark=BOOKMARK
        ),
        201: answer(NewBookmarkEnvelope, "The bookmark is new.", user_group=USER_GROUP, bookmark=BOOKMARK),
    },
    failures=[URL_WRONG, CollectionDoesNotExist()],
)

create_bookmarks = operation(
    operation_id="create_bookmarks",
    summary="Create many bookmarks",
    description=(
        "Up to 1,000 bookmarks in a body of up to 8 MiB. Each item is what creating one takes. One bad item does not "
        "stop the rest: `results` has for each item, in order, the answer that it would have had as a call of its "
        "own, without the user group, and the `status` of that."
    ),
    tags=TAGS,
    body=(BookmarkBatchSerializer, {"bookmarks": [FIELDS, {"url": "example.com"}]}),
    answers={
        200: answer(
            BookmarkBatchEnvelope,
            "What became of each item.",
            user_group=USER_GROUP,
            results=[
                {"status": 201, "success": 1, "bookmark": BOOKMARK},
                {"status": 400, **failure(URL_WRONG)},
            ],
        )
    },
    failures=[ValidationError({"bookmarks": [ErrorDetail("This field is required.", "required")]})],
)

get_bookmark = operation(
    operation_id="get_bookmark",
    summary="Read a bookmark",
    tags=TAGS,
    read_only=True,
    path=ID,
    answers={200: answer(BookmarkEnvelope, "The bookmark.", bookmark=BOOKMARK)},
    failures=[BookmarkNotFound()],
)

update_bookmark = operation(
    operation_id="update_bookmark",
    summary="Move a bookmark or set its title",
    description="A field that is left out stays as it is.",
    tags=TAGS,
    path=ID,
    body=(BookmarkUpdateSerializer, {"title": BOOKMARK["title"], "collection": BOOKMARK["collection"]}),
    answers={200: answer(BookmarkEnvelope, "The bookmark as it stands after the update.", bookmark=BOOKMARK)},
    failures=[CollectionDoesNotExist(), BookmarkNotFound(), BookmarkExists()],
)

delete_bookmark = operation(
    operation_id="delete_bookmark",
    summary="Delete a bookmark",
    tags=TAGS,
    path=ID,
    answers={200: answer(Envelope, "The bookmark is gone.")},
    failures=[BookmarkNotFound()],
)
