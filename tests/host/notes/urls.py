from django.contrib import admin
from django.urls import path
from drf_spectacular.views import SpectacularAPIView

from tests.host.notes import api_urls
from tests.host.notes.api import ProblemsView, UserGroupsView
from tests.host.notes.dashboards import dashboard
from tests.host.notes.ratings import RatingsView
from tests.host.notes.report_tokens import ReportView

schema_view = SpectacularAPIView.as_view(
    patterns=api_urls.urlpatterns, custom_settings=api_urls.SCHEMA_SETTINGS
)

urlpatterns = [
    *api_urls.urlpatterns,
    path("admin/", admin.site.urls),
    path("dashboard/", dashboard),
    path("report", ReportView.as_view(schema=None)),
    path("ratings", RatingsView.as_view(schema=None)),
    path("own/user-groups/", UserGroupsView.as_view()),
    path("own/problems/", ProblemsView.as_view()),
    path("schema/", SpectacularAPIView.as_view()),  # the document of the host's own API
    path("links/schema/", schema_view),  # the document of the apps
]
