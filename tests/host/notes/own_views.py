from rest_framework import generics, serializers
from rest_framework.filters import OrderingFilter, SearchFilter
from rest_framework.views import exception_handler

from bookmarks.authentication import AccessTokenAuthentication
from bookmarks.models import Bookmark
from usergroups.tokens.permissions import TokenPermission


class OwnBookmarkSerializer(serializers.ModelSerializer):
    class Meta:
        model = Bookmark
        fields = ["id", "url", "title", "tags"]


class OwnBookmarksView(generics.ListCreateAPIView):
    authentication_classes = [AccessTokenAuthentication]
    permission_classes = [TokenPermission]
    serializer_class = OwnBookmarkSerializer
    filter_backends = [OrderingFilter, SearchFilter]
    ordering_fields = ["title"]
    search_fields = ["title"]

    def get_queryset(self):
        return self.request.auth.user_group.bookmarks.all()

    def perform_create(self, serializer):
        serializer.instance, _ = Bookmark.objects.add(
            user_group=self.request.auth.user_group, **serializer.validated_data
        )


class PlainBookmarksView(OwnBookmarksView):
    """The view without the policies of the host, which are those of camel
    case.
    """

    versioning_class = None
    throttle_classes = []
    pagination_class = None

    def get_exception_handler(self):
        return exception_handler
