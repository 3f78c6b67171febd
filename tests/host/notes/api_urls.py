from django.urls import include, path

from tests.host.notes.batches import BookmarkBatchView
from tests.host.notes.views import BookmarksView

urlpatterns = [
    path("groups/", include("usergroups.urls")),
    path("groups/", include("bookmarks.access_token_urls")),
    path("links/v1/bookmarks", BookmarksView.as_view()),  # in place of the view in bookmarks.urls
    path("links/", include("bookmarks.urls")),
]
SCHEMA_SETTINGS = {"PREPROCESSING_HOOKS": [], "POSTPROCESSING_HOOKS": []}

urlpatterns = [path("links/v1/bookmarks/batch", BookmarkBatchView.as_view()), *urlpatterns]
