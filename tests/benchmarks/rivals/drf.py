"""Views as in the tutorial of Django REST framework: generic views, model serializers and a rate limit.

The middleware is that of ``startproject``, and the parsers and renderers are DRF's defaults.
"""

import hashlib

from django.contrib.auth.models import AnonymousUser
from django.db.models import Q
from django.urls import path
from django.utils import timezone
from rest_framework import authentication, exceptions, generics, pagination, permissions, serializers, throttling
from rest_framework.response import Response

from bookmarks.models import AccessToken, Bookmark
from usergroups.models import ApiToken, UserGroup


class DigestAuthentication(authentication.TokenAuthentication):
    def authenticate_credentials(self, key):
        tokens = self.model.objects.select_related(self.model.owner_field)
        not_expired = Q(expires_at=None) | Q(expires_at__gt=timezone.now())
        try:
            token = tokens.get(not_expired, digest=hashlib.sha256(key.encode()).digest(), revoked_at=None)
        except self.model.DoesNotExist:
            raise exceptions.AuthenticationFailed from None
        return AnonymousUser(), token


class ApiTokenAuthentication(DigestAuthentication):
    model = ApiToken


class AccessTokenAuthentication(DigestAuthentication):
    keyword, model = "Bearer", AccessToken


class HasToken(permissions.BasePermission):
    def has_permission(self, request, view):
        return request.auth is not None


class TokenThrottle(throttling.SimpleRateThrottle):
    scope = "token"

    def get_cache_key(self, request, view):
        return self.cache_format % {"scope": self.scope, "ident": request.auth.pk}


class UserGroupSerializer(serializers.ModelSerializer):
    api_environment_tag = serializers.CharField(source="environment", read_only=True)

    class Meta:
        model = UserGroup
        fields = ["team_id", "token", "name", "provided_id", "mapping", "properties", "api_environment_tag"]
        read_only_fields = ["provided_id"]


class BookmarkSerializer(serializers.ModelSerializer):
    class Meta:
        model = Bookmark
        fields = ["id", "url", "title", "collection", "created_at", "updated_at"]


class UserGroupView(generics.UpdateAPIView):
    authentication_classes = [ApiTokenAuthentication]
    permission_classes = [HasToken]
    throttle_classes = [TokenThrottle]
    serializer_class = UserGroupSerializer

    def get_object(self):
        token, provided_id = self.request.auth, self.request.data.get("user_group_id")
        groups = UserGroup.objects.filter(team=token.team, environment=token.environment)
        return generics.get_object_or_404(groups, provided_id=provided_id)

    def put(self, request):
        return self.partial_update(request)


class BookmarkPagination(pagination.CursorPagination):
    page_size, ordering = 50, ("-created_at", "-id")


class BookmarkViews:
    authentication_classes = [AccessTokenAuthentication]
    permission_classes = [HasToken]
    throttle_classes = [TokenThrottle]
    serializer_class = BookmarkSerializer
    pagination_class = BookmarkPagination

    def get_queryset(self):
        return Bookmark.objects.filter(user_group=self.request.auth.user_group)


class BookmarksView(BookmarkViews, generics.ListCreateAPIView):
    def perform_create(self, serializer):
        serializer.save(user_group=self.request.auth.user_group)

    def create(self, request):
        response = super().create(request)
        group = UserGroupSerializer(request.auth.user_group).data
        return Response({"success": 1, "user_group": group, "bookmark": response.data}, response.status_code)


class BookmarkView(BookmarkViews, generics.RetrieveAPIView):
    pass


urlpatterns = [
    path("api/user", UserGroupView.as_view()),
    path("v1/bookmarks", BookmarksView.as_view()),
    path("v1/bookmarks/<uuid:pk>", BookmarkView.as_view()),
]
