"""What goes with what is deleted, told without loading it."""

from collections.abc import Iterator, Sequence
from typing import Any

from django.contrib import admin
from django.db import models
from django.http import HttpRequest
from django.utils.text import capfirst

from .lists import counted

MAX_SHOWN = 20

Deleted = tuple[list[str], dict[str, str], set[str], list[str]]


def what_goes(objs: Sequence[models.Model], request: HttpRequest, site: admin.AdminSite) -> Deleted:
    """Return what ModelAdmin.get_deleted_objects() does, with counts in place of each row that depends on ``objs``."""
    if not objs:
        return [], {}, set(), []
    counts = {str(objs[0]._meta.verbose_name_plural): f"{len(objs):,}"}
    lacking, protected = set(), []
    for relation, path in dependants(type(objs[0])):
        model: Any = relation.related_model
        rows = model._base_manager.filter(**{f"{path}__in": [obj.pk for obj in objs]})
        if relation.on_delete in (models.PROTECT, models.RESTRICT):
            protected += shown(list(rows[:MAX_SHOWN]))
        elif (number := counted(rows)) != "0":
            counts[str(model._meta.verbose_name_plural)] = number
            if site.is_registered(model) and not site.get_model_admin(model).has_delete_permission(request):
                lacking.add(str(model._meta.verbose_name))
    return shown(objs), counts, lacking, protected


def shown(rows: Sequence[models.Model]) -> list[str]:
    """Return what to show of the rows: the first ones."""
    texts = [f"{capfirst(row._meta.verbose_name)}: {row}" for row in rows[:MAX_SHOWN]]
    return [*texts, f"and {len(rows) - MAX_SHOWN:,} more"] if len(rows) > MAX_SHOWN else texts


def dependants(model: type[models.Model], path: str = "") -> Iterator[tuple[models.ForeignObjectRel, str]]:
    """Yield the relations that a row's deletion follows or is stopped by, and the way back from their models."""
    for relation in model._meta.get_fields(include_hidden=True):
        if not isinstance(relation, models.ManyToOneRel) or relation.on_delete is models.DO_NOTHING:
            continue
        way = f"{relation.field.name}__{path}".removesuffix("__")
        yield relation, way
        if relation.on_delete is models.CASCADE and way.count("__") < 4:  # models may refer to each other in a circle
            yield from dependants(relation.related_model, way)
