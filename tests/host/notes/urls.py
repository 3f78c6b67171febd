from django.urls import include, path
from drf_spectacular.views import SpectacularAPIView

from .api import ProblemsView, UserGroupsView
from .dashboards import dashboard
from .organisations import UserGroupView
from .report_tokens import ReportView
from .views import BookmarksView

api = [
    path("groups/api/user", UserGroupView.as_view()),
    path("groups/", include("usergroups.urls")),
    path("groups/", include("bookmarks.access_token_urls")),
    path("links/v1/bookmarks", BookmarksView.as_view()),
    path("links/", include("bookmarks.urls")),
]
separate = {"PREPROCESSING_HOOKS": [], "POSTPROCESSING_HOOKS": []}
urlpatterns = [
    *api,
    path("schema/", SpectacularAPIView.as_view()),
    path("links/schema/", SpectacularAPIView.as_view(patterns=api, custom_settings=separate)),
    path("dashboard/", dashboard),
    path("report", ReportView.as_view(schema=None)),
    path("own/user-groups/", UserGroupsView.as_view()),
    path("own/problems/", ProblemsView.as_view()),
]
