"""Operations on many bookmarks."""

from contextlib import suppress
from typing import Any, cast

from django.db import IntegrityError
from rest_framework.request import Request
from rest_framework.response import Response

from bookmarks.exceptions import BookmarkExists, BookmarkNotFound
from bookmarks.models import Bookmark
from bookmarks.openapi import batches as openapi
from bookmarks.public_ids import Duplicate
from bookmarks.serializers.bookmarks import (
    BookmarkBatchEnvelope,
    BookmarkBatchSerializer,
    BookmarkDeletionEnvelope,
    BookmarkIdsSerializer,
    BookmarkMoveEnvelope,
    BookmarkMoveSerializer,
)
from usergroups.contract import batch
from usergroups.contract.parsers import BatchParser
from usergroups.tokens.concurrency import expensive_call

from .base import AccessTokenView

LOOKUP_RETRIES = 2


class BookmarkBatchView(AccessTokenView):
    request_serializers = {"POST": BookmarkBatchSerializer}
    response_serializers = {"POST": BookmarkBatchEnvelope}
    owner_fields = {"POST": ("properties",)}
    parser_classes = [BatchParser]

    @openapi.create_bookmarks
    def post(self, request: Request) -> Response:
        data = cast(dict[str, Any], request.data)
        with expensive_call(self.user_group):
            for _ in range(LOOKUP_RETRIES):
                with suppress(IntegrityError):  # a collection was deleted after it was looked up
                    return self.create(data.get("bookmarks"))
            return self.create(data.get("bookmarks"))

    def create(self, unvalidated: Any) -> Response:
        """Look up the collections and store the valid items. Raises IntegrityError on a conflict."""
        collections = self.look_up_collections(unvalidated)
        items = self.validated(find_collection=collections.get)["bookmarks"]
        stored = (
            {"bookmark": bookmark, "status": 201 if created else 200}
            for bookmark, created in Bookmark.objects.add_many(self.user_group, batch.valid(items))
        )
        return self.respond({"user_group": self.user_group, "results": batch.results(items, stored)})


class BookmarkBatchDeletionView(AccessTokenView):
    request_serializers = {"POST": BookmarkIdsSerializer}
    response_serializers = {"POST": BookmarkDeletionEnvelope}
    parser_classes = [BatchParser]

    @openapi.delete_bookmarks
    def post(self, request: Request) -> Response:
        ids = self.validated()["ids"]
        with expensive_call(self.user_group):
            existed = self.bookmarks.remove_many(batch.valid(ids))
        deletions = ({"status": 200} if each else batch.failed(BookmarkNotFound()) for each in existed)
        return self.respond({"results": batch.results(ids, deletions)})


class BookmarkBatchMoveView(AccessTokenView):
    request_serializers = {"POST": BookmarkMoveSerializer}
    response_serializers = {"POST": BookmarkMoveEnvelope}
    parser_classes = [BatchParser]

    @openapi.move_bookmarks
    def post(self, request: Request) -> Response:
        fields = self.validated(find_collection=self.find_collection)
        ids, collection = fields["ids"], fields["collection"]
        with expensive_call(self.user_group):
            moved = self.bookmarks.move_many(batch.valid(ids), collection)
        return self.respond({"results": batch.results(ids, map(self.result, moved))})

    def result(self, moved: Bookmark | type[Duplicate] | None) -> dict[str, Any] | batch.FailedItem:
        """Return the result of an item."""
        if moved is None:
            return batch.failed(BookmarkNotFound())
        if moved is Duplicate:
            return batch.failed(BookmarkExists("collection"))
        return {"bookmark": moved, "status": 200}
