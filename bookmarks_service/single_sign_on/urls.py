from django.urls import path

from . import views

urlpatterns = [
    path("single-sign-on/", views.start, name="single_sign_on"),
    path("single-sign-on/callback/", views.callback, name="single_sign_on_callback"),
]
