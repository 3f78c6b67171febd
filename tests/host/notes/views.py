from rest_framework import serializers
from rest_framework.permissions import BasePermission

from bookmarks.serializers.bookmarks import BookmarkSerializer, NewBookmarkEnvelope
from bookmarks.views import bookmarks
from usergroups.tokens.throttling import TokenThrottle


class RatedBookmarkSerializer(BookmarkSerializer):
    is_secure = serializers.SerializerMethodField()

    def get_is_secure(self, bookmark) -> bool:
        return bookmark.url.lower().startswith("https:")


class NewRatedBookmarkEnvelope(NewBookmarkEnvelope):
    bookmark = RatedBookmarkSerializer()


class HasPlan(BasePermission):
    message = "Bookmarks are part of the plan pro."
    code = "plan_required"

    def has_permission(self, request, view):
        properties = request.auth.user_group.properties or {}
        return properties.get("plan") == "pro"


class BookmarksThrottle(TokenThrottle):
    scope = "bookmarks"
    rate = "600/min"


class BookmarksView(bookmarks.BookmarksView):
    response_serializers = {**bookmarks.BookmarksView.response_serializers, "POST": NewRatedBookmarkEnvelope}
    permission_classes = [*bookmarks.BookmarksView.permission_classes, HasPlan]
    throttle_classes = [BookmarksThrottle]
