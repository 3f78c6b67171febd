from django.db import transaction
from django.urls import reverse
from rest_framework import serializers

from bookmarks import views
from bookmarks.authentication import AccessTokenAuthentication
from bookmarks.serializers import BookmarkCreateSerializer

from .models import Rating


class LinksAuthentication(AccessTokenAuthentication):
    keyword = "Links"


class RatedBookmarkCreateSerializer(BookmarkCreateSerializer):
    stars = serializers.IntegerField(min_value=1, max_value=5)


class RatingsView(views.BookmarksView):
    http_method_names = ["post"]
    authentication_classes = [LinksAuthentication]
    request_serializers = {"POST": RatedBookmarkCreateSerializer}

    @transaction.atomic
    def perform_create(self, serializer):
        # The other fields are those of the bookmark.
        stars = serializer.validated_data.pop("stars")
        super().perform_create(serializer)
        Rating.objects.update_or_create(
            bookmark=serializer.instance, defaults={"stars": stars}
        )

    def path_of(self, key):
        # No bookmark can be read below the path of this view.
        return reverse("bookmarks:bookmark", args=[key])
