"""The operations on bookmarks."""

from rest_framework.request import Request
from rest_framework.response import Response

from bookmarks import openapi, serializers, web_url
from bookmarks.models import Bookmark
from bookmarks.querysets.batches import SIZE
from bookmarks.search import WITHOUT_INDEX, SearchPage
from usergroups.api.envelopes import Envelope
from usergroups.api.page_queries import pop_paging
from usergroups.api.pagination import Page
from usergroups.api.preconditions import accepted_versions
from usergroups.api.requests import APIRequest

from .base import AccessTokenView


class BookmarksView(AccessTokenView):
    request_serializers = {
        "GET": serializers.BookmarkListQuery,
        "POST": serializers.BookmarkCreateSerializer,
    }
    response_serializers = {
        "GET": serializers.BookmarkListEnvelope,
        "POST": serializers.NewBookmarkEnvelope,
    }
    # loaded for the user group in the response
    large_owner_fields = {"POST": ("properties",)}
    # A character of the parameter ``url`` may take twelve bytes, as in
    # %F0%9F%98%80.
    max_query_length = AccessTokenView.max_query_length + 12 * web_url.MAX_LENGTH

    def is_costly(self, request: APIRequest) -> bool:
        if self.documented_method == "GET" and {"q", "tag"} & {*request.query_params}:
            return True
        return super().is_costly(request)

    @openapi.list_bookmarks
    def get(self, request: Request) -> Response:
        query = self.validated_with_collection()
        paging = pop_paging(query)
        without_index = {}
        for name in WITHOUT_INDEX[paging["time_field"]]:
            if name in query:
                without_index[name] = query.pop(name)
        bookmarks = Bookmark.objects.filter_by_query(self.user_group, query)
        page: Page[Bookmark]
        if without_index:
            page = SearchPage(bookmarks, without_index, **paging)
        else:
            page = Page(bookmarks, "id", size=SIZE, **paging)
        return self.respond({"bookmarks": page.items, **page.links(request)})

    @openapi.create_bookmark
    def post(self, request: Request) -> Response:
        fields = self.validated_with_collection()
        user_group = self.user_group
        bookmark, created = Bookmark.objects.add(user_group=user_group, **fields)
        data = {"user_group": user_group, "bookmark": bookmark}
        if not created:
            return self.respond(data, etag_of=bookmark)
        location = self.location_of(bookmark.pk)
        return self.respond(data, etag_of=bookmark, status=201, location=location)


class BookmarkView(AccessTokenView):
    request_serializers = {"PATCH": serializers.BookmarkUpdateSerializer}
    response_serializers = {
        "GET": serializers.BookmarkEnvelope,
        "PATCH": serializers.BookmarkEnvelope,
        "DELETE": Envelope,
    }

    @openapi.get_bookmark
    def get(self, request: Request, id: str) -> Response:
        bookmark = Bookmark.objects.find_by_id(self.user_group, id)
        if bookmark is None:
            raise Bookmark.DoesNotExist
        return self.respond({"bookmark": bookmark}, etag_of=bookmark)

    @openapi.update_bookmark
    def patch(self, request: Request, id: str) -> Response:
        fields = self.validated_with_collection()
        versions = accepted_versions(request)
        bookmark = Bookmark.objects.update_by_id(
            self.user_group, id, versions, **fields
        )
        return self.respond({"bookmark": bookmark}, etag_of=bookmark)

    @openapi.delete_bookmark
    def delete(self, request: Request, id: str) -> Response:
        versions = accepted_versions(request)
        Bookmark.objects.delete_by_id(self.user_group, id, versions)
        return self.respond({})
