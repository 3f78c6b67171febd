"""The addresses of the admin's pages."""

from typing import Any

from django.contrib.admin import AdminSite
from django.urls import reverse


def admin_url(site: AdminSite, opts: Any, page: str, *args: Any) -> str:
    """Return the address of a page, such as ``"changelist"``, of the model with these options."""
    return reverse(f"{site.name}:{opts.app_label}_{opts.model_name}_{page}", args=args)
