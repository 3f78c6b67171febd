"""Documentation of the operations on collections."""

from bookmarks.exceptions import CollectionExists, CollectionNotFound
from usergroups.exceptions import TooLargeToDelete
from usergroups.tokens.documentation import (
    INVALID_LIMIT,
    id_parameter,
    missing,
    operation,
    page_query,
    success_response,
)

COLLECTION = {
    "id": "01930e79-a1c0-7d3f-8b7a-2f4c6e8d0a13",
    "name": "Reading list",
    "created_at": "2026-01-31T09:26:10.112233Z",
    "updated_at": "2026-01-31T09:26:10.112233Z",
}
NAME_MISSING = missing("name")

TAGS = ["Collections"]
ID = id_parameter("The collection's `id`.", COLLECTION["id"])

list_collections = operation(
    operation_id="list_collections",
    summary="List collections",
    description="Lists the collections of the access token's user group. Request `next` until it is null.",
    tags=TAGS,
    query={**page_query(COLLECTION["id"]), "name": COLLECTION["name"]},
    read_only=True,
    responses={200: success_response("A page of collections.", collections=[COLLECTION], next=None, previous=None)},
    failures=[INVALID_LIMIT],
)

create_collection = operation(
    operation_id="create_collection",
    summary="Create a collection",
    tags=TAGS,
    request={"name": COLLECTION["name"]},
    tagged=True,
    responses={201: success_response("The collection was created.", collection=COLLECTION)},
    failures=[NAME_MISSING, CollectionExists()],
)

get_collection = operation(
    operation_id="get_collection",
    summary="Retrieve a collection",
    tags=TAGS,
    read_only=True,
    path=ID,
    tagged=True,
    responses={200: success_response("The collection.", collection=COLLECTION)},
    failures=[CollectionNotFound()],
)

update_collection = operation(
    operation_id="update_collection",
    summary="Rename a collection",
    tags=TAGS,
    path=ID,
    request={"name": COLLECTION["name"]},
    tagged=True,
    conditional=True,
    responses={200: success_response("The updated collection.", collection=COLLECTION)},
    failures=[CollectionNotFound(), CollectionExists()],
)

delete_collection = operation(
    operation_id="delete_collection",
    summary="Delete a collection",
    description=(
        "Its bookmarks are kept, without a collection. If bookmarks become duplicates, only the oldest is kept."
    ),
    tags=TAGS,
    path=ID,
    conditional=True,
    responses={200: success_response("The collection was deleted.")},
    failures=[CollectionNotFound(), TooLargeToDelete()],
)
