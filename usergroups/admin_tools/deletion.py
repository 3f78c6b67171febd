"""Summaries of what a deletion includes, made without loading the related rows."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from django.contrib import admin
from django.contrib.humanize.templatetags.humanize import intcomma
from django.db import models, router
from django.http import HttpRequest
from django.utils.text import capfirst
from django.utils.translation import ngettext

from usergroups.transactions import dependants

from .lists import display_count

MAX_DESCRIBED = 20

DeletionSummary = tuple[list[str], dict[str, str], set[str], list[str]]
"""Descriptions of the rows, counts by model, the models without permission to delete, and the protected rows."""


def deletion_summary(objs: Sequence[models.Model], request: HttpRequest, site: admin.AdminSite) -> DeletionSummary:
    """Return what ModelAdmin.get_deleted_objects() returns, with counts in place of a list of all related rows."""
    if not objs:
        return [], {}, set(), []
    counts = {str(objs[0]._meta.verbose_name_plural): intcomma(len(objs))}
    perms_needed, protected = set(), []
    cascading: dict[Any, models.Q] = defaultdict(models.Q)
    protecting: dict[Any, models.Q] = defaultdict(models.Q)
    for relation, way in dependants(type(objs[0])):
        paths = cascading if relation.on_delete is models.CASCADE else protecting
        paths[relation.related_model] |= models.Q(**{f"{way}__in": objs})
    for model, path in cascading.items():
        if (number := display_count(_rows(model).filter(path))) != "0":
            model_admin = site.get_model_admin(model) if site.is_registered(model) else None
            if model_admin is None or model_admin.has_view_permission(request):
                counts[str(model._meta.verbose_name_plural)] = number
            if model_admin is not None and not model_admin.has_delete_permission(request):
                perms_needed.add(str(model._meta.verbose_name))
    for model, path in protecting.items():
        if model not in cascading:  # Otherwise a cascade may delete these rows first.
            protected += describe(list(_rows(model).filter(path)[:MAX_DESCRIBED]))
    return describe(objs), counts, perms_needed, protected


def _rows(model: Any) -> Any:
    return model._base_manager.using(router.db_for_write(model))


def describe(rows: Sequence[models.Model]) -> list[str]:
    """Return descriptions of the first rows, and the number of the others."""
    texts = [f"{capfirst(row._meta.verbose_name)}: {row}" for row in rows[:MAX_DESCRIBED]]
    if others := len(rows[MAX_DESCRIBED:]):
        texts.append(ngettext("and %(number)s more", "and %(number)s more", others) % {"number": intcomma(others)})
    return texts
