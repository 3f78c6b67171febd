from django.contrib import admin
from django.urls import path

from tests.host import urls

handler404 = urls.handler404

admin.autodiscover()
second_site = admin.AdminSite("second")
for model, model_admin in admin.site._registry.items():
    second_site.register(model, type(model_admin))

urlpatterns = [*urls.urlpatterns, path("backoffice/", admin.site.urls), path("second/", second_site.urls)]
