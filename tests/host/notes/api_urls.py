"""The paths of the apps."""

from django.urls import include, path

urlpatterns = [
    path("groups/", include("usergroups.urls")),
    path("groups/", include("bookmarks.access_token_urls")),
    path("links/", include("bookmarks.urls")),
]
SCHEMA_SETTINGS = {"PREPROCESSING_HOOKS": [], "POSTPROCESSING_HOOKS": []}
