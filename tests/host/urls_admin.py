from django.contrib import admin
from django.urls import path

from tests.host import urls
from usergroups.admin_tools.find_site import FindSite

handler404 = urls.handler404

admin.autodiscover()
second_site = FindSite("second")
for model, model_admin in admin.site._registry.items():
    second_site.register(model, type(model_admin))

urlpatterns = [*urls.urlpatterns, path("backoffice/", admin.site.urls), path("second/", second_site.urls)]
