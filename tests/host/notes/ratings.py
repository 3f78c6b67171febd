from django.db import transaction
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

    def validated(self):
        fields = super().validated()
        # The other fields are those of the bookmark.
        self.stars = fields.pop("stars")
        return fields

    @transaction.atomic
    def post(self, request):
        response = super().post(request)
        Rating.objects.update_or_create(
            bookmark_id=response.data["bookmark"]["id"], defaults={"stars": self.stars}
        )
        return response
