"""The URLs of the bookmark operations, relative to their prefix."""

from django.urls import path

from .files.api import ExportView, ImportView
from .views import (
    BookmarkBatchDeletionView,
    BookmarkBatchMoveView,
    BookmarkBatchView,
    BookmarksView,
    BookmarkView,
    CollectionsView,
    CollectionView,
)

app_name = "bookmarks"
urlpatterns = [
    path("v1/bookmarks", BookmarksView.as_view(), name="bookmarks"),
    path("v1/bookmarks/batch", BookmarkBatchView.as_view(), name="bookmarks-batch"),
    path("v1/bookmarks/batch/delete", BookmarkBatchDeletionView.as_view(), name="bookmarks-batch-delete"),
    path("v1/bookmarks/batch/move", BookmarkBatchMoveView.as_view(), name="bookmarks-batch-move"),
    path("v1/bookmarks/<str:id>", BookmarkView.as_view(), name="bookmark"),
    path("v1/collections", CollectionsView.as_view(), name="collections"),
    path("v1/collections/<str:id>", CollectionView.as_view(), name="collection"),
    path("v1/imports", ImportView.as_view(), name="imports"),
    path("v1/export", ExportView.as_view(), name="export"),
]
