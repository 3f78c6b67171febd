from rest_framework import serializers

from bookmarks.serializers import BookmarkSerializer


class RatedBookmarkSerializer(BookmarkSerializer):
    is_secure = serializers.SerializerMethodField()

    def get_is_secure(self, bookmark) -> bool:
        return bookmark.url.lower().startswith("https:")
