"""What goes with what is deleted, told without loading it."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from django.contrib import admin
from django.db import models
from django.http import HttpRequest
from django.utils.text import capfirst

from usergroups.dependants import dependants

from .lists import counted

MAX_SHOWN = 20

Deleted = tuple[list[str], dict[str, str], set[str], list[str]]


def what_goes(objs: Sequence[models.Model], request: HttpRequest, site: admin.AdminSite) -> Deleted:
    """Return what ModelAdmin.get_deleted_objects() does, with counts in place of each row that depends on ``objs``."""
    if not objs:
        return [], {}, set(), []
    counts = {str(objs[0]._meta.verbose_name_plural): f"{len(objs):,}"}
    lacking, protected = set(), []
    followed: dict[Any, models.Q] = defaultdict(models.Q)
    stopped: dict[Any, models.Q] = defaultdict(models.Q)
    for relation, way in dependants(type(objs[0])):
        paths = followed if relation.on_delete is models.CASCADE else stopped
        paths[relation.related_model] |= models.Q(**{f"{way}__in": objs})
    for model, path in followed.items():
        if (number := counted(model._base_manager.filter(path))) != "0":
            model_admin = site._registry.get(model)
            if model_admin is None or model_admin.has_view_permission(request):
                counts[str(model._meta.verbose_name_plural)] = number
            if model_admin is not None and not model_admin.has_delete_permission(request):
                lacking.add(str(model._meta.verbose_name))
    for model, path in stopped.items():
        if model not in followed:  # else it may go by another way
            protected += shown(list(model._base_manager.filter(path)[:MAX_SHOWN]))
    return shown(objs), counts, lacking, protected


def shown(rows: Sequence[models.Model]) -> list[str]:
    """Return what to show of the rows: the first ones."""
    texts = [f"{capfirst(row._meta.verbose_name)}: {row}" for row in rows[:MAX_SHOWN]]
    return [*texts, f"and {len(rows) - MAX_SHOWN:,} more"] if len(rows) > MAX_SHOWN else texts
