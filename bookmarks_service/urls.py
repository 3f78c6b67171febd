"""The root URLconf. Both apps are mounted at the root."""

from django.conf import settings
from django.contrib import admin
from django.urls import include, path
from django.views.generic import RedirectView, TemplateView
from drf_spectacular.views import SpectacularSwaggerSplitView

from .handlers import ADMIN_PREFIX, get_only
from .known_paths import KnownPathsResolver
from .schema import schema

handler400 = "bookmarks_service.handlers.bad_request"
handler403 = "bookmarks_service.handlers.permission_denied"
handler404 = "bookmarks_service.handlers.page_not_found"
handler500 = "bookmarks_service.handlers.server_error"

urlpatterns = [
    KnownPathsResolver(
        [
            path("", include("usergroups.urls")),
            path("", include("bookmarks.urls")),
            path("", include("bookmarks.access_token_urls")),
        ]
    ),
    path(ADMIN_PREFIX, admin.site.urls),
    path("", get_only(TemplateView.as_view(template_name="index.html")), name="index"),
    path("schema/", get_only(schema), name="schema"),
    path("docs/", get_only(SpectacularSwaggerSplitView.as_view()), name="docs"),
]
for name in ("admin", "schema", "docs"):
    urlpatterns.append(path(name, get_only(RedirectView.as_view(url=f"{name}/"))))
if settings.OIDC_ISSUER:
    # before the admin, which responds to all unknown paths below its prefix
    sign_on = path(ADMIN_PREFIX, include("bookmarks_service.single_sign_on"))
    urlpatterns.insert(0, sign_on)
