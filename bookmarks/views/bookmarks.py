"""Bookmarks."""

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


class BookmarksView(AccessTokenView):
    @openapi.list_bookmarks
    def get(self, request: Request) -> Response:
        named = self.named_in([request.query_params])
        query = self.validated(BookmarkListQuery, request.query_params, collections=named)
        bookmarks = self.bookmarks
        if "collection" in query:
            collection = query["collection"]
            bookmarks = bookmarks.filter(collection=collection) if collection else bookmarks.in_none()
        if "url" in query:
            bookmarks = bookmarks.of_url(query["url"])
        if "created_since" in query:
            bookmarks = bookmarks.filter(created_at__gte=query["created_since"])
        place = ("id", query["limit"], query.get("cursor"))
        if "q" in query:
            with expensive_call(self.user_group):
                page = Page(bookmarks, *place, search=search.contains(query["q"]), max_scanned=search.MAX_SCANNED)
        else:
            page = Page(bookmarks, *place)
        return Response(BookmarkListEnvelope({"bookmarks": page.items, **page.links(request)}).data)

    @openapi.create_bookmark
    def post(self, request: Request) -> Response:
        fields = self.validated(BookmarkCreateSerializer, request.data, collections=self.named_in([request.data]))
        try:
            bookmark, created = Bookmark.objects.add(user_group=self.user_group, **fields)
        except IntegrityError:
            self.check_that_it_is_there(fields.get("collection"))
            raise
        data = NewBookmarkEnvelope({"user_group": self.user_group, "bookmark": bookmark}).data
        return self.created(data, bookmark) if created else Response(data)


class BookmarkView(AccessTokenView):
    @openapi.get_bookmark
    def get(self, request: Request, public_id: str) -> Response:
        return Response(BookmarkEnvelope({"bookmark": self.bookmarks.get_by_public_id(public_id)}).data)

    @openapi.update_bookmark
    def patch(self, request: Request, public_id: str) -> Response:
        fields = self.validated(BookmarkUpdateSerializer, request.data, collections=self.named_in([request.data]))
        try:
            bookmark = self.bookmarks.change(public_id, **fields)
        except Duplicate:
            raise BookmarkExists from None
        except IntegrityError:
            self.check_that_it_is_there(fields.get("collection"))
            raise
        return Response(BookmarkEnvelope({"bookmark": bookmark}).data)

    @openapi.delete_bookmark
    def delete(self, request: Request, public_id: str) -> Response:
        self.bookmarks.remove(public_id)
        return Response(Envelope({}).data)


class BookmarkBatchView(AccessTokenView):
    parser_classes = [BatchParser]

    @openapi.create_bookmarks
    def post(self, request: Request) -> Response:
        with expensive_call(self.user_group):
            return Response(self.create(cast(dict[str, Any], request.data)))

    def create(self, data: dict[str, Any]) -> Any:
        for last in (False, False, True):
            named = self.named_in(data.get("bookmarks"))
            items = self.validated(BookmarkBatchSerializer, data, collections=named)["bookmarks"]
            try:
                done = Bookmark.objects.add_many(self.user_group, batch.valid(items))
                break
            except IntegrityError:  # a collection was deleted after it was looked up: look up all of them again
                if last:
                    raise
        answers = (
            (201 if created else 200, {"bookmark": BookmarkSerializer(bookmark).data}) for bookmark, created in done
        )
        return BookmarkBatchEnvelope({"user_group": self.user_group, "results": batch.results(items, answers)}).data
