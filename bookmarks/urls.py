"""The URLs of the bookmark operations, relative to their prefix."""

from django.urls import path

from . import views

app_name = "bookmarks"
urlpatterns = [
    path("v1/token", views.DescribeAccessTokenView.as_view(), name="token"),
    path("v1/token/rotate", views.RotateAccessTokenView.as_view(), name="token-rotate"),
    path("v1/bookmarks", views.BookmarksView.as_view(), name="bookmarks"),
    path(
        "v1/bookmarks/batch", views.BookmarkBatchView.as_view(), name="bookmarks-batch"
    ),
    path(
        "v1/bookmarks/batch/delete",
        views.BookmarkBatchDeletionView.as_view(),
        name="bookmarks-batch-delete",
    ),
    path(
        "v1/bookmarks/batch/move",
        views.BookmarkBatchMoveView.as_view(),
        name="bookmarks-batch-move",
    ),
    path(
        "v1/bookmarks/lookup",
        views.BookmarkLookupView.as_view(),
        name="bookmarks-lookup",
    ),
    path("v1/bookmarks/<public_id:id>", views.BookmarkView.as_view(), name="bookmark"),
    path("v1/collections", views.CollectionsView.as_view(), name="collections"),
    path(
        "v1/collections/<public_id:id>",
        views.CollectionView.as_view(),
        name="collection",
    ),
    path("v1/tags", views.TagsView.as_view(), name="tags"),
    path("v1/tags/rename", views.TagRenameView.as_view(), name="tags-rename"),
    path("v1/deletions", views.DeletionsView.as_view(), name="deletions"),
    path("v1/imports", views.ImportView.as_view(), name="imports"),
    path("v1/export", views.ExportView.as_view(), name="export"),
]
