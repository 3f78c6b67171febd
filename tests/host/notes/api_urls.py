"""The paths of the apps, with two views that the host has changed."""

from django.urls import include, path

from tests.host.notes.views import BookmarkBatchView, BookmarksView

urlpatterns = [
    path("groups/", include("usergroups.urls")),
    path("groups/", include("bookmarks.access_token_urls")),
    # in place of the view in bookmarks.urls
    path("links/v1/bookmarks", BookmarksView.as_view()),
    path("links/v1/bookmarks/batch", BookmarkBatchView.as_view()),
    path("links/", include("bookmarks.urls")),
]
SCHEMA_SETTINGS = {"PREPROCESSING_HOOKS": [], "POSTPROCESSING_HOOKS": []}
