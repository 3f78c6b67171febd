from rest_framework import serializers

from bookmarks import views
from bookmarks.serializers import BookmarkListQuery
from usergroups.api.throttling import TokenThrottle


class BookmarkTitleQuery(BookmarkListQuery):
    title = serializers.CharField(required=False)


class SmallPages(views.BookmarksView.pagination_class):
    default_limit = 20
    max_limit = 50


class FivePostsAMinute(TokenThrottle):
    scope = "posts"
    rate = "5/min"

    def get_cache_key(self, request, view):
        # by user group, and other calls not at all
        return str(request.auth.user_group_id) if request.method == "POST" else None


class LimitedBookmarksView(views.BookmarksView):
    request_serializers = {
        **views.BookmarksView.request_serializers,
        "GET": BookmarkTitleQuery,
    }
    pagination_class = SmallPages
    throttle_classes = [*views.BookmarksView.throttle_classes, FivePostsAMinute]
