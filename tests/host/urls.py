from django.apps import apps
from django.contrib import admin
from django.http import HttpResponse
from django.urls import include, path, re_path

from usergroups.admin_tools.find_site import FindSite
from usergroups.api.errors import unknown_path


def handler404(request, exception):
    return HttpResponse("<h1>The host's page</h1>", status=404)


admin.autodiscover()
# with the same classes as the default site, and the search field Find
second_site = FindSite("second")
for model, model_admin in admin.site._registry.items():
    second_site.register(model, type(model_admin))

urlpatterns = [
    path("backoffice/", admin.site.urls),
    path("second/", second_site.urls),
    path("tenants/groups/", include("usergroups.urls")),
]
if apps.is_installed("bookmarks"):
    urlpatterns += [
        path("tenants/groups/", include("bookmarks.access_token_urls")),
        path("links/", include("bookmarks.urls")),
    ]
urlpatterns += [re_path("^(tenants/groups|links)/", unknown_path)]
