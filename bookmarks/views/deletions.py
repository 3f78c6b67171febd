"""The list of deleted bookmarks and collections."""

from typing import Any

from django.db.models import QuerySet
from rest_framework.request import Request
from rest_framework.response import Response

from bookmarks import openapi, serializers
from bookmarks.deletion_log import Deletion
from usergroups.api.views import ListMixin

from .access_token_view import AccessTokenView


class DeletionsView(ListMixin, AccessTokenView):
    request_serializers = {"GET": serializers.BookmarkDeletionListQuery}
    response_serializers = {"GET": serializers.DeletionListEnvelope}
    serializer_class = serializers.DeletionSerializer
    list_name = "deletions"

    @openapi.list_deletions
    def get(self, request: Request) -> Response:
        return self.list(request)

    def get_queryset(self) -> QuerySet[Any]:
        return Deletion.objects.filter(user_group=self.user_group)
