from django.http import HttpResponse
from django.urls import include, path, re_path

from usergroups.contract.errors import unknown_path


def handler404(request, exception):
    return HttpResponse("<h1>The host's page</h1>", status=404)


urlpatterns = [
    path("tenants/groups/", include("usergroups.urls")),
    re_path("^tenants/groups/", unknown_path),
]
