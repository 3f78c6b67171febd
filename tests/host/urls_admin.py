from django.contrib import admin
from django.urls import path

from tests.host import urls

handler404 = urls.handler404

urlpatterns = [*urls.urlpatterns, path("backoffice/", admin.site.urls)]
