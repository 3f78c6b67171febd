"""The URLs of the operations on access tokens, relative to the prefix of the
user group operations.
"""

from django.urls import path

from .views import (
    AccessTokenBatchRevocationView,
    AccessTokenBatchView,
    AccessTokenDetailView,
    AccessTokensView,
    TeamAccessTokensView,
)

app_name = "access_tokens"
urlpatterns = [
    path(
        "api/access-tokens", TeamAccessTokensView.as_view(), name="team-access-tokens"
    ),
    path("api/user/access-tokens", AccessTokensView.as_view(), name="access-tokens"),
    path(
        "api/user/access-tokens/batch",
        AccessTokenBatchView.as_view(),
        name="access-tokens-batch",
    ),
    path(
        "api/user/access-tokens/batch/revoke",
        AccessTokenBatchRevocationView.as_view(),
        name="access-tokens-batch-revoke",
    ),
    path(
        "api/user/access-tokens/<public_id:id>",
        AccessTokenDetailView.as_view(),
        name="access-token",
    ),
]
