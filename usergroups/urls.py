"""The URLs of the user group operations, relative to their prefix."""

from django.urls import path

from .views import (
    DescribeApiTokenView,
    ResolveView,
    RotateApiTokenView,
    RotateUserGroupTokenView,
    UserGroupBatchDeletionView,
    UserGroupBatchView,
    UserGroupDeletionsView,
    UserGroupsView,
    UserGroupView,
)

app_name = "usergroups"
urlpatterns = [
    path("api/token", DescribeApiTokenView.as_view(), name="token"),
    path("api/token/rotate", RotateApiTokenView.as_view(), name="token-rotate"),
    path("api/user", UserGroupView.as_view(), name="user"),
    path("api/user/resolve", ResolveView.as_view(), name="user-resolve"),
    path("api/user/token", RotateUserGroupTokenView.as_view(), name="user-token"),
    path("api/users", UserGroupsView.as_view(), name="users"),
    path(
        "api/users/deletions",
        UserGroupDeletionsView.as_view(),
        name="users-deletions",
    ),
    path("api/users/batch", UserGroupBatchView.as_view(), name="users-batch"),
    path(
        "api/users/batch/delete",
        UserGroupBatchDeletionView.as_view(),
        name="users-batch-delete",
    ),
]
