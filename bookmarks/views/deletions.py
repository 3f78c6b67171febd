"""The list of deleted bookmarks and collections."""

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema_view

from bookmarks import openapi, serializers
from bookmarks.deletion_log import Deletion
from usergroups.api.views import ListMixin

from .access_token_view import AccessTokenView


@extend_schema_view(get=openapi.list_deletions)
class DeletionsView(ListMixin, AccessTokenView):
    request_serializers = {"GET": serializers.BookmarkDeletionListQuery}
    response_serializers = {"GET": serializers.DeletionListEnvelope}
    serializer_class = serializers.DeletionSerializer
    list_name = "deletions"

    def get_queryset(self) -> QuerySet[Deletion]:
        return Deletion.objects.filter(user_group=self.user_group)
