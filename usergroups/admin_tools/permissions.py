"""The models of an admin site: whether a user may view them, and the addresses of their pages."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.urls import reverse


def can_view(site: admin.AdminSite, request: HttpRequest, model: Any) -> bool:
    """Return whether the model is registered and the user may view it."""
    return site.is_registered(model) and site.get_model_admin(model).has_view_permission(request)


def admin_url(site: admin.AdminSite, opts: Any, page: str, *args: Any) -> str:
    """Return the address of a page, such as ``"changelist"``, of the model with these options."""
    return reverse(f"{site.name}:{opts.app_label}_{opts.model_name}_{page}", args=args)
