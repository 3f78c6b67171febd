"""The operations on the tags of a user group."""

from datetime import UTC, datetime
from typing import Any

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema_view
from rest_framework.request import Request
from rest_framework.response import Response

from bookmarks import openapi, serializers
from bookmarks.letter_case import fold
from bookmarks.models import Bookmark
from bookmarks.querysets.tags import count_tags, pages_of_tags
from usergroups.api.pagination import KeysetPagination, Position
from usergroups.api.views import ListMixin

from .access_token_view import AccessTokenView

ANY_TIME = datetime(2000, 1, 1, tzinfo=UTC)
"""The time in the positions of tags, which have none.

The ends of a list have other times, before and after all tags.
"""


class TagPagination(KeysetPagination):
    """Orders tags by their names, in any letter case."""

    key_from_text = str

    def read(
        self, queryset: QuerySet[Any], view: ListMixin, limit: int
    ) -> tuple[list[Any], Position | None]:
        prefix = fold(view.validated_data.get("prefix", ""))
        after = self.cursor and (self.cursor.time, self.cursor.key)

        def is_wanted(folded: str) -> bool:
            if not folded.startswith(prefix):
                return False
            if after is None:
                return True
            position = (ANY_TIME, folded)
            return position > after if self.ascending else position < after

        pages = view.request.deadline.enforce(pages_of_tags(queryset))
        tags = count_tags(pages, is_wanted, limit + 1, ascending=self.ascending)
        items = tags[:limit]
        return items, self.position(items[-1]) if len(tags) > limit else None

    def position(self, item: Any) -> Position:
        return ANY_TIME, fold(item.name)


@extend_schema_view(get=openapi.list_tags)
class TagsView(ListMixin, AccessTokenView):
    request_serializers = {"GET": serializers.TagListQuery}
    response_serializers = {"GET": serializers.TagListEnvelope}
    serializer_class = serializers.TagSerializer
    pagination_class = TagPagination
    list_name = "tags"
    # It reads the tags of all bookmarks.
    costly_methods = ("GET",)

    def get_queryset(self) -> QuerySet[Bookmark]:
        return Bookmark.objects.filter(user_group=self.user_group)


class TagRenameView(AccessTokenView):
    request_serializers = {"POST": serializers.TagRenameSerializer}
    response_serializers = {"POST": serializers.TagRenameEnvelope}
    costly_methods = ("POST",)

    @openapi.rename_tag
    def post(self, request: Request) -> Response:
        fields = self.validated_data
        numbers = Bookmark.objects.rename_tag(
            self.user_group, fields["tag"], fields["to"]
        )
        return self.respond({"changed": sum(self.request.deadline.enforce(numbers))})
