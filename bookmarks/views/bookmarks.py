"""Operations on one bookmark, and the list of bookmarks."""

from contextlib import nullcontext

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
from usergroups.tokens.concurrency import expensive_call

from .base import AccessTokenView


class BookmarksView(AccessTokenView):
    request_serializers = {"GET": BookmarkListQuery, "POST": BookmarkCreateSerializer}
    response_serializers = {"GET": BookmarkListEnvelope, "POST": NewBookmarkEnvelope}
    owner_fields = {"POST": ("properties",)}

    @openapi.list_bookmarks
    def get(self, request: Request) -> Response:
        query = self.validated(find_collection=self.find_collection)
        position = pop_position(query)
        with expensive_call(self.user_group) if "q" in query else nullcontext():
            bookmarks = Bookmark.objects.matching(self.user_group, query)
            page = Page(bookmarks, "id", **position, search=search.for_query(query))
        return self.respond({"bookmarks": page.items, **page.links(request)})

    @openapi.create_bookmark
    def post(self, request: Request) -> Response:
        fields = self.validated(find_collection=self.find_collection)
        user_group = self.user_group
        bookmark, created = Bookmark.objects.add(user_group=user_group, **fields)
        data = {"user_group": user_group, "bookmark": bookmark}
        if not created:
            return self.respond(data, tagged=bookmark)
        return self.respond(data, tagged=bookmark, status=201, location=self.location_of(bookmark.pk))


class BookmarkView(AccessTokenView):
    request_serializers = {"PATCH": BookmarkUpdateSerializer}
    response_serializers = {"GET": BookmarkEnvelope, "PATCH": BookmarkEnvelope, "DELETE": Envelope}

    @openapi.get_bookmark
    def get(self, request: Request, id: str) -> Response:
        bookmark = Bookmark.objects.find(self.user_group, id)
        return self.respond({"bookmark": bookmark}, tagged=bookmark)

    @openapi.update_bookmark
    def patch(self, request: Request, id: str) -> Response:
        fields = self.validated(find_collection=self.find_collection)
        try:
            bookmark = self.bookmarks.change(id, accepted_versions(request), **fields)
        except Duplicate as duplicate:
            location = self.location_of(duplicate.key)
            raise BookmarkExists("url" if "url" in fields else "collection", location) from None
        return self.respond({"bookmark": bookmark}, tagged=bookmark)

    @openapi.delete_bookmark
    def delete(self, request: Request, id: str) -> Response:
        self.bookmarks.remove(id, accepted_versions(request))
        return self.respond({})
