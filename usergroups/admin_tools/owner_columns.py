"""Columns of lists that show the owner of a row, as a link to the owner's page."""

from collections.abc import Callable
from functools import reduce
from typing import Any

from django.contrib import admin
from django.contrib.admin.utils import get_fields_from_path
from django.db.models.constants import LOOKUP_SEP
from django.http import HttpRequest
from django.utils.html import format_html

from .admin_urls import admin_url
from .permissions import can_view

Describe = Callable[[Any], str]
"""Returns what a cell shows of the owner."""


def owner_column(model_admin: Any, request: HttpRequest, lookup: str, describe: Describe) -> Callable[[Any], str]:
    """Return a column for ``list_display``. It links to the owner's page if the user may view the owner.

    The column cannot be sorted, because no index has the order of the owners' names.
    """
    field: Any = get_fields_from_path(model_admin.model, lookup)[-1]
    owners, site = field.related_model._meta, model_admin.admin_site
    is_linked = can_view(site, request, field.related_model)

    def column(row: Any) -> str:
        owner = reduce(getattr, lookup.split(LOOKUP_SEP), row)
        if not is_linked:
            return describe(owner)
        page = admin_url(site, owners, "change", owner.pk)
        return format_html('<a href="{}">{}</a>', page, describe(owner))

    column.__name__ = field.name  # which Django uses in CSS classes
    return admin.display(column, description=field.verbose_name)


def two_lines(first: str, second: str) -> str:
    """Return the content of a cell with a secondary line in small type."""
    return format_html('{} <small class="second-line">{}</small>', first, second) if second else first
