"""Mount under the base address of the user group operations."""

from django.urls import path

from .views import UserGroupView

app_name = "usergroups"
urlpatterns = [
    path("api/user", UserGroupView.as_view(), name="user"),
]
