"""Operations on one bookmark, and the list of bookmarks."""

from contextlib import nullcontext
from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from bookmarks import search
from bookmarks.exceptions import BookmarkExists
from bookmarks.models import Bookmark
from bookmarks.openapi import bookmarks as openapi
from bookmarks.public_ids import Duplicate
from bookmarks.serializers.bookmarks import (
    BookmarkCreateSerializer,
    BookmarkEnvelope,
    BookmarkListEnvelope,
    BookmarkListQuery,
    BookmarkUpdateSerializer,
    NewBookmarkEnvelope,
)
from usergroups.contract.etags import accepted_versions
from usergroups.contract.fields import Envelope
from usergroups.contract.pagination import Page, pop_position
from usergroups.tokens.throttling import expensive_call

from .base import AccessTokenView


class BookmarksView(AccessTokenView):
    @openapi.list_bookmarks
    def get(self, request: Request) -> Response:
        query = self.validated(BookmarkListQuery, request.query_params, find_collection=self.find_collection)
        position = pop_position(query)
        with expensive_call(self.user_group) if "q" in query else nullcontext():
            page = Page(self.bookmarks.matching(query), "id", **position, search=search.for_query(query))
        return self.respond(BookmarkListEnvelope, {"bookmarks": page.items, **page.links(request)})

    @openapi.create_bookmark
    def post(self, request: Request) -> Response:
        fields = self.validated(BookmarkCreateSerializer, request.data, find_collection=self.find_collection)
        user_group = self.user_group
        with self.writing_to(fields.get("collection")):
            bookmark, created = Bookmark.objects.add(user_group=user_group, **fields)
        data = {"user_group": user_group, "bookmark": bookmark}
        if not created:
            return self.respond(NewBookmarkEnvelope, data, tagged=bookmark)
        location = self.location_of(bookmark)
        return self.respond(NewBookmarkEnvelope, data, tagged=bookmark, status=201, location=location)


class BookmarkView(AccessTokenView):
    @openapi.get_bookmark
    def get(self, request: Request, public_id: str) -> Response:
        bookmark = self.bookmarks.get_by_public_id(public_id)
        return self.respond(BookmarkEnvelope, {"bookmark": bookmark}, tagged=bookmark)

    @openapi.update_bookmark
    def patch(self, request: Request, public_id: str) -> Response:
        fields: dict[str, Any] = self.validated(
            BookmarkUpdateSerializer, request.data, find_collection=self.find_collection
        )
        try:
            with self.writing_to(fields.get("collection")):
                bookmark = self.bookmarks.change(public_id, accepted_versions(request), **fields)
        except Duplicate:
            raise BookmarkExists("url" if "url" in fields else "collection") from None
        return self.respond(BookmarkEnvelope, {"bookmark": bookmark}, tagged=bookmark)

    @openapi.delete_bookmark
    def delete(self, request: Request, public_id: str) -> Response:
        self.bookmarks.remove(public_id, accepted_versions(request))
        return self.respond(Envelope, {})
