"""Operations on bookmarks."""

from contextlib import nullcontext, suppress
from typing import Any, cast

from django.db import IntegrityError
from rest_framework.request import Request
from rest_framework.response import Response

from bookmarks import search
from bookmarks.exceptions import BookmarkExists
from bookmarks.models import Bookmark
from bookmarks.openapi import bookmarks as openapi
from bookmarks.public_ids import Duplicate
from bookmarks.serializers import (
    BookmarkBatchEnvelope,
    BookmarkBatchSerializer,
    BookmarkCreateSerializer,
    BookmarkEnvelope,
    BookmarkListEnvelope,
    BookmarkListQuery,
    BookmarkSerializer,
    BookmarkUpdateSerializer,
    NewBookmarkEnvelope,
)
from usergroups.contract import batch
from usergroups.contract.fields import Envelope
from usergroups.contract.pagination import Page
from usergroups.contract.parsers import BatchParser
from usergroups.tokens.throttling import expensive_call

from .base import AccessTokenView

LOOKUP_RETRIES = 2


class BookmarksView(AccessTokenView):
    @openapi.list_bookmarks
    def get(self, request: Request) -> Response:
        query = self.validated(BookmarkListQuery, request.query_params, find_collection=self.find_collection)
        bookmarks, limit, cursor = self.bookmarks.matching(query), query["limit"], query.get("cursor")
        text_search = search.for_text(query["q"]) if "q" in query else None
        with expensive_call(self.user_group) if text_search else nullcontext():
            page = Page(bookmarks, "id", limit, cursor, search=text_search)
        return Response(self.represent(BookmarkListEnvelope, {"bookmarks": page.items, **page.links(request)}))

    @openapi.create_bookmark
    def post(self, request: Request) -> Response:
        fields = self.validated(BookmarkCreateSerializer, request.data, find_collection=self.find_collection)
        try:
            bookmark, created = Bookmark.objects.add(user_group=self.user_group, **fields)
        except IntegrityError:
            self.check_collection_exists(fields.get("collection"))
            raise
        data = self.represent(NewBookmarkEnvelope, {"user_group": self.user_group, "bookmark": bookmark})
        return self.created_response(data, bookmark) if created else Response(data)


class BookmarkView(AccessTokenView):
    @openapi.get_bookmark
    def get(self, request: Request, public_id: str) -> Response:
        return Response(self.represent(BookmarkEnvelope, {"bookmark": self.bookmarks.get_by_public_id(public_id)}))

    @openapi.update_bookmark
    def patch(self, request: Request, public_id: str) -> Response:
        fields = self.validated(BookmarkUpdateSerializer, request.data, find_collection=self.find_collection)
        try:
            bookmark = self.bookmarks.change(public_id, **fields)
        except Duplicate:
            raise BookmarkExists from None
        except IntegrityError:
            self.check_collection_exists(fields.get("collection"))
            raise
        return Response(self.represent(BookmarkEnvelope, {"bookmark": bookmark}))

    @openapi.delete_bookmark
    def delete(self, request: Request, public_id: str) -> Response:
        self.bookmarks.remove(public_id)
        return Response(self.represent(Envelope, {}))


class BookmarkBatchView(AccessTokenView):
    parser_classes = [BatchParser]

    @openapi.create_bookmarks
    def post(self, request: Request) -> Response:
        data = cast(dict[str, Any], request.data)
        with expensive_call(self.user_group):
            for _ in range(LOOKUP_RETRIES):
                with suppress(IntegrityError):  # a collection was deleted after it was looked up
                    return Response(self.create(data))
            return Response(self.create(data))

    def create(self, data: dict[str, Any]) -> Any:
        """Look up the collections, store the valid items and return the answer. Raises IntegrityError on a conflict."""
        collections = self.look_up_collections(data.get("bookmarks"))
        items = self.validated(BookmarkBatchSerializer, data, find_collection=collections.get)["bookmarks"]
        stored = Bookmark.objects.add_many(self.user_group, batch.valid(items))
        answers = (
            (201 if created else 200, {"bookmark": self.represent(BookmarkSerializer, bookmark)})
            for bookmark, created in stored
        )
        return self.represent(
            BookmarkBatchEnvelope, {"user_group": self.user_group, "results": batch.results(items, answers)}
        )
