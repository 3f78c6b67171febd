"""The URLconf of the service with single sign-on, for tests that turn it on after the settings were read."""

from django.urls import include, path

from bookmarks_service.urls import *  # noqa: F403
from bookmarks_service.urls import urlpatterns

urlpatterns = [path("admin/", include("bookmarks_service.single_sign_on")), *urlpatterns]
