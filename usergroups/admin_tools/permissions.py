"""Permissions across the models of an admin site."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest


def can_view(site: admin.AdminSite, request: HttpRequest, model: Any) -> bool:
    """Return whether the model is registered and the user may view it."""
    return site.is_registered(model) and site.get_model_admin(model).has_view_permission(request)
