"""The paths of the apps, with two views that the host has changed."""

from django.urls import include, path

from bookmarks import views
from bookmarks.serializers import BookmarkBatchEnvelope, BookmarkResultSerializer
from tests.host.notes.views import BookmarksView, RatedBookmarkSerializer
from usergroups.api.batches import ResultsField


class RatedBookmarkResultSerializer(BookmarkResultSerializer):
    bookmark = RatedBookmarkSerializer(required=False)


class RatedBookmarkBatchEnvelope(BookmarkBatchEnvelope):
    results = ResultsField(RatedBookmarkResultSerializer)


class BookmarkBatchView(views.BookmarkBatchView):
    response_serializers = {"POST": RatedBookmarkBatchEnvelope}


urlpatterns = [
    path("groups/", include("usergroups.urls")),
    path("groups/", include("bookmarks.access_token_urls")),
    # in place of the view in bookmarks.urls
    path("links/v1/bookmarks", BookmarksView.as_view()),
    path("links/v1/bookmarks/batch", BookmarkBatchView.as_view()),
    path("links/", include("bookmarks.urls")),
]
SCHEMA_SETTINGS = {"PREPROCESSING_HOOKS": [], "POSTPROCESSING_HOOKS": []}
