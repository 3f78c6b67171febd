"""Mount under the base address of the bookmark operations."""

from django.urls import path

from .views import BookmarksView

app_name = "bookmarks"
urlpatterns = [
    path("v1/bookmarks", BookmarksView.as_view(), name="bookmarks"),
]
