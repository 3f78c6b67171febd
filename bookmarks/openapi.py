"""The bookmark operations in the OpenAPI document."""

from drf_spectacular.utils import OpenApiExample, OpenApiResponse
from rest_framework.exceptions import ErrorDetail, ValidationError

from usergroups.contract.openapi import operation
from usergroups.openapi import USER_GROUP

from .exceptions import CollectionNotFound
from .serializers import BookmarkCreateSerializer, BookmarkEnvelope

BOOKMARK = {
    "id": "01930e7a-5b5c-7c42-9f8e-3a1d5b0c7e21",
    "url": "https://example.com/reports?year=2026",
    "collection": "01930e79-a1c0-7d3f-8b7a-2f4c6e8d0a13",
    "created_at": "2026-01-31T09:26:53.589793Z",
}

create_bookmark = operation(
    operation_id="create_bookmark",
    summary="Create a bookmark",
    description=(
        "The bookmark belongs to the access token's user group, which the answer shows beside it. A URL that the "
        "group has in the same collection already, or likewise in none, is not stored twice: the answer is then "
        "200 and the bookmark that is there. Two URLs are the same if the WHATWG URL Standard serialises both to "
        "the same text. The URL is kept as it was sent and never fetched."
    ),
    tags=["Bookmarks"],
    request=BookmarkCreateSerializer,
    responses={
        200: OpenApiResponse(BookmarkEnvelope, "The group has this bookmark already."),
        201: OpenApiResponse(BookmarkEnvelope, "The bookmark is new."),
    },
    failures=[
        ValidationError({"url": [ErrorDetail("Not an absolute http or https URL.", "invalid")]}),
        CollectionNotFound(),
    ],
    examples=[
        OpenApiExample(
            "Create",
            {key: BOOKMARK[key] for key in ("url", "collection")},
            request_only=True,
        ),
        OpenApiExample(
            "Created",
            {"success": 1, "user_group": USER_GROUP, "bookmark": BOOKMARK},
            response_only=True,
            status_codes=[200, 201],
        ),
    ],
)
