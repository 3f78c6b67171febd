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
    BookmarkSerializer,
)
from usergroups.contract import batch
from usergroups.contract.parsers import BatchParser
from usergroups.tokens.throttling import expensive_call

from .base import AccessTokenView

LOOKUP_RETRIES = 2


class BookmarkBatchView(AccessTokenView):
    parser_classes = [BatchParser]

    @openapi.create_bookmarks
    def post(self, request: Request) -> Response:
        data = cast(dict[str, Any], request.data)
        with expensive_call(self.user_group):
            for _ in range(LOOKUP_RETRIES):
                with suppress(IntegrityError):  # a collection was deleted after it was looked up
                    return self.create(data)
            return self.create(data)

    def create(self, data: dict[str, Any]) -> Response:
        """Look up the collections and store the valid items. Raises IntegrityError on a conflict."""
        collections = self.look_up_collections(data.get("bookmarks"))
        items = self.validated(BookmarkBatchSerializer, data, find_collection=collections.get)["bookmarks"]
        stored = (
            batch.success(201 if created else 200, bookmark=self.represent(BookmarkSerializer, bookmark))
            for bookmark, created in Bookmark.objects.add_many(self.user_group, batch.valid(items))
        )
        results = batch.results(items, stored)
        return self.respond(BookmarkBatchEnvelope, {"user_group": self.user_group, "results": results})


class BookmarkBatchDeletionView(AccessTokenView):
    parser_classes = [BatchParser]

    @openapi.delete_bookmarks
    def post(self, request: Request) -> Response:
        ids = self.validated(BookmarkIdsSerializer, request.data)["ids"]
        with expensive_call(self.user_group):
            existed = self.bookmarks.remove_many(batch.valid(ids))
        deletions = (batch.success(200) if each else batch.error(BookmarkNotFound()) for each in existed)
        return self.respond(BookmarkDeletionEnvelope, {"results": batch.results(ids, deletions)})


class BookmarkBatchMoveView(AccessTokenView):
    parser_classes = [BatchParser]

    @openapi.move_bookmarks
    def post(self, request: Request) -> Response:
        fields = self.validated(BookmarkMoveSerializer, request.data, find_collection=self.find_collection)
        ids, collection = fields["ids"], fields["collection"]
        with self.writing_to(collection), expensive_call(self.user_group):
            moved = self.bookmarks.move_many(batch.valid(ids), collection)
        return self.respond(BookmarkMoveEnvelope, {"results": batch.results(ids, map(self.result, moved))})

    def result(self, moved: Bookmark | type[Duplicate] | None) -> dict[str, Any]:
        """Return the result of an item."""
        if moved is None:
            return batch.error(BookmarkNotFound())
        if moved is Duplicate:
            return batch.error(BookmarkExists("collection"))
        return batch.success(200, bookmark=self.represent(BookmarkSerializer, moved))
