"""The operations on bookmarks, and the list of deletions."""

from collections.abc import Mapping

from django.db.models import QuerySet
from django.db.models.expressions import Combinable
from drf_spectacular.utils import extend_schema_view

from bookmarks import openapi, serializers
from bookmarks.deleted_bookmarks import Deletion
from bookmarks.models import Bookmark
from bookmarks.querysets.batch_writes import SIZE
from bookmarks.search import WITHOUT_INDEX, searched_size
from usergroups.api.pagination import KeysetPagination
from usergroups.api.requests import APIRequest
from usergroups.api.serializers import AnySerializer, Envelope
from usergroups.api.views import CreateMixin, ListMixin
from usergroups.serializers import DeletionListQuery

from .access_token_view import AccessTokenView, BookmarkAPIView, PublicIdMixin


class BookmarkPagination(KeysetPagination):
    size = SIZE
    searched = WITHOUT_INDEX

    def searched_size(self, search: Mapping[str, object]) -> Combinable:
        return searched_size(search)

    def size_of_found(self, search: Mapping[str, object]) -> Combinable | None:
        # The text that is searched is smaller than a page.
        return None if "q" in search else SIZE


@extend_schema_view(get=openapi.list_bookmarks, post=openapi.create_bookmark)
class BookmarksView(ListMixin, CreateMixin, BookmarkAPIView):
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

    def is_costly(self, request: APIRequest) -> bool:
        if self.method_key == "GET" and {"q", "tag"} & {*request.query_params}:
            return True
        return super().is_costly(request)

    def fields_of(self, instance: Bookmark) -> dict[str, object]:
        return {"user_group": self.user_group, "bookmark": instance}

    def perform_create(self, serializer: AnySerializer) -> None:
        """Create the bookmark, or find the one with this URL."""
        serializer.instance, self.created = Bookmark.objects.add(
            user_group=self.user_group, **serializer.validated_data
        )


@extend_schema_view(
    get=openapi.get_bookmark,
    patch=openapi.update_bookmark,
    delete=openapi.delete_bookmark,
)
class BookmarkView(PublicIdMixin, BookmarkAPIView):
    model = Bookmark
    request_serializers = {"PATCH": serializers.BookmarkUpdateSerializer}
    response_serializers = {
        "GET": serializers.BookmarkEnvelope,
        "PATCH": serializers.BookmarkEnvelope,
        "DELETE": Envelope,
    }


@extend_schema_view(get=openapi.list_deletions)
class DeletionsView(ListMixin, AccessTokenView):
    request_serializers = {"GET": DeletionListQuery}
    response_serializers = {"GET": serializers.DeletionListEnvelope}
    serializer_class = serializers.DeletionSerializer
    list_name = "deletions"

    def get_queryset(self) -> QuerySet[Deletion]:
        return Deletion.objects.filter(user_group=self.user_group)
