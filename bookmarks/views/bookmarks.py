"""The operations on bookmarks."""

from collections.abc import Collection, Mapping
from typing import Any, cast

from django.db.models import QuerySet
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import Serializer

from bookmarks import openapi, serializers, web_url
from bookmarks.models import Bookmark
from bookmarks.querysets.bulk_writes import SIZE
from bookmarks.search import WITHOUT_INDEX, SearchPage
from usergroups.api.envelopes import Envelope
from usergroups.api.pagination import KeysetPagination, M, Page
from usergroups.api.requests import APIRequest
from usergroups.api.views import ListMixin

from .access_token_view import BookmarkAPIView, PublicIdMixin


class BookmarkPagination(KeysetPagination):
    size = SIZE

    def searched(self, query: Mapping[str, Any]) -> Collection[str]:
        return WITHOUT_INDEX[query["time_field"]]

    def get_page(
        self, queryset: QuerySet[M], search: Mapping[str, Any], **paging: Any
    ) -> Page[M]:
        if not search:
            return super().get_page(queryset, search, **paging)
        return SearchPage(queryset, search, **paging)  # type: ignore[return-value, arg-type]


class BookmarksView(ListMixin, BookmarkAPIView):
    request_serializers = {
        "GET": serializers.BookmarkListQuery,
        "POST": serializers.BookmarkCreateSerializer,
    }
    response_serializers = {
        "GET": serializers.BookmarkListEnvelope,
        "POST": serializers.NewBookmarkEnvelope,
    }
    pagination_class = BookmarkPagination
    list_name = "bookmarks"
    # loaded for the user group in the response
    large_owner_fields = {"POST": ("properties",)}
    # A character of the parameter ``url`` may take twelve bytes, as in
    # %F0%9F%98%80.
    max_query_length = BookmarkAPIView.max_query_length + 12 * web_url.MAX_LENGTH

    def is_costly(self, request: APIRequest) -> bool:
        if self.documented_method == "GET" and {"q", "tag"} & {*request.query_params}:
            return True
        return super().is_costly(request)

    @openapi.list_bookmarks
    def get(self, request: Request) -> Response:
        return self.list(request)

    @openapi.create_bookmark
    def post(self, request: Request) -> Response:
        serializer = self.get_valid_serializer()
        self.perform_create(serializer)
        bookmark = cast(Bookmark, serializer.instance)
        data = {"user_group": self.user_group, "bookmark": bookmark}
        if not self.created:
            self.check_object_permissions(request, bookmark)
            return self.respond(data, etag_of=bookmark)
        location = self.location_of(bookmark.pk)
        return self.respond(data, etag_of=bookmark, status=201, location=location)

    def perform_create(self, serializer: Serializer[Any]) -> None:
        """Create the bookmark, or find the one with this URL."""
        serializer.instance, self.created = Bookmark.objects.add(
            user_group=self.user_group, **serializer.validated_data
        )


class BookmarkView(PublicIdMixin, BookmarkAPIView):
    model = Bookmark
    object_name = "bookmark"
    request_serializers = {"PATCH": serializers.BookmarkUpdateSerializer}
    response_serializers = {
        "GET": serializers.BookmarkEnvelope,
        "PATCH": serializers.BookmarkEnvelope,
        "DELETE": Envelope,
    }

    @openapi.get_bookmark
    def get(self, request: Request, id: str) -> Response:
        return self.retrieve(request)

    @openapi.update_bookmark
    def patch(self, request: Request, id: str) -> Response:
        return self.update(request)

    @openapi.delete_bookmark
    def delete(self, request: Request, id: str) -> Response:
        return self.destroy(request)
