"""The addresses of pages of the admin."""

from typing import Any
from uuid import UUID

from django.contrib import admin
from django.contrib.admin.utils import quote
from django.db import models
from django.db.models.options import Options
from django.urls import reverse


def admin_url(
    site: admin.AdminSite, opts: "Options[Any]", page: str, *args: int | str | UUID
) -> str:
    """Return the address of a page, such as ``"changelist"``, of the model
    with these options.
    """
    name = f"{site.name}:{opts.app_label}_{opts.model_name}_{page}"
    return reverse(name, args=[quote(arg) for arg in args])


def change_url(site: admin.AdminSite, row: models.Model) -> str:
    """Return the address of the page of a row."""
    return admin_url(site, row._meta, "change", row.pk)
