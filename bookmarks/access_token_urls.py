"""The URLs of the operations on access tokens, relative to the prefix of the
user group operations.
"""

from django.urls import path

from .views import AccessTokenDetailView, AccessTokensView

app_name = "access_tokens"
urlpatterns = [
    path("api/user/access-tokens", AccessTokensView.as_view(), name="access-tokens"),
    path(
        "api/user/access-tokens/<str:id>",
        AccessTokenDetailView.as_view(),
        name="access-token",
    ),
]
