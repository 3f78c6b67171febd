"""The paths of the apps before a pattern that matches all paths that begin
with a language, as Wagtail has it.
"""

from django.conf.urls.i18n import i18n_patterns
from django.http import HttpResponse
from django.urls import path, re_path

from usergroups.api.errors import unknown_path

from .api_urls import urlpatterns as api_urlpatterns

urlpatterns = [
    *api_urlpatterns,
    re_path("^(?:groups|links)(?:/|$)", unknown_path),
    *i18n_patterns(path("<path:page>", lambda request, page: HttpResponse(page))),
]
