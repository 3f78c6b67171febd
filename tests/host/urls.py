from django.urls import include, path, re_path

from tests.host import urls_alone
from usergroups.contract.errors import unknown_path

handler404 = urls_alone.handler404


def exception_handler(exception, context):
    raise AssertionError("the host's handler was called")


urlpatterns = [
    path("tenants/groups/", include("bookmarks.access_token_urls")),
    *urls_alone.urlpatterns,
    path("links/", include("bookmarks.urls")),
    re_path("^(links)/(.*)$", unknown_path),
]
