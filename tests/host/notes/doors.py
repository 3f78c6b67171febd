from django.apps import AppConfig
from django.core.exceptions import ValidationError
from django.utils import timezone
from rest_framework import generics, serializers
from rest_framework.filters import OrderingFilter, SearchFilter
from rest_framework.permissions import BasePermission

from bookmarks import views
from bookmarks.authentication import AccessTokenAuthentication
from bookmarks.models import Bookmark
from bookmarks.serializers import BookmarkListQuery
from usergroups.api.throttling import TokenThrottle
from usergroups.models import UserGroup
from usergroups.tokens.permissions import TokenPermission

from .views import RatedBookmarkSerializer


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


class DuringTheDay(BasePermission):
    message = "Bookmarks rest at night."
    code = "at_night"

    def has_permission(self, request, view):
        return 7 <= timezone.localtime().hour < 22


def refuse_hosts(url):
    if "//refused.example/" in url:
        raise ValidationError("This host is refused.", code="refused_host")


class NotesConfig(AppConfig):
    name = "notes"

    def ready(self):
        api_view = views.BookmarkAPIView
        api_view.serializer_class = RatedBookmarkSerializer
        api_view.permission_classes = [*api_view.permission_classes, DuringTheDay]
        Bookmark._meta.get_field("url").validators.append(refuse_hosts)


def add_daily_links():
    for user_group in UserGroup.objects.filter(environment="Customer"):
        items = [{"url": "https://example.com/today", "tags": ["daily"]}]
        Bookmark.objects.add_many(user_group, items, update=True)


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
