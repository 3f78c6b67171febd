from rest_framework import serializers
from rest_framework.permissions import BasePermission

from bookmarks import views
from bookmarks.serializers import BookmarkSerializer
from usergroups.api.throttling import TokenThrottle


class RatedBookmarkSerializer(BookmarkSerializer):
    is_secure = serializers.SerializerMethodField()

    def get_is_secure(self, bookmark) -> bool:
        return bookmark.url.lower().startswith("https:")


class HasPlan(BasePermission):
    message = "Bookmarks are part of the plan pro."
    code = "plan_required"

    def has_permission(self, request, view):
        properties = request.auth.user_group.properties or {}
        return properties.get("plan") == "pro"


class BookmarksThrottle(TokenThrottle):
    scope = "bookmarks"
    rate = "600/min"


class BookmarksView(views.BookmarksView):
    serializer_class = RatedBookmarkSerializer
    permission_classes = [*views.BookmarksView.permission_classes, HasPlan]
    throttle_classes = [BookmarksThrottle]


class BookmarkBatchView(views.BookmarkBatchView):
    serializer_class = RatedBookmarkSerializer
