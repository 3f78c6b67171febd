"""Find the relations through which a deletion cascades, or which protect a row from deletion."""

from collections.abc import Iterator
from typing import Any

from django.db import models

MAX_FOREIGN_KEYS = 5  # between a dependant and a row, because models may refer to each other in a cycle
CASCADING_OR_PROTECTING = (models.CASCADE, models.PROTECT, models.RESTRICT)


def dependants(model: type[models.Model], path: str = "") -> Iterator[tuple[models.ForeignObjectRel, str]]:
    """Yield the relations that cascade or protect, each with the lookup from the related model to ``model``."""
    for relation in model._meta.get_fields(include_hidden=True):
        if isinstance(relation, models.ManyToOneRel) and relation.on_delete in CASCADING_OR_PROTECTING:
            lookup = f"{relation.field.name}__{path}".removesuffix("__")
            yield relation, lookup
            if relation.on_delete is models.CASCADE and lookup.count("__") + 1 < MAX_FOREIGN_KEYS:
                yield from dependants(relation.related_model, lookup)


def cascades(model: type[models.Model]) -> list[tuple[Any, str]]:
    """Return the models that a deletion cascades to and their lookups, in an order in which they can be deleted."""
    found = [
        (relation.related_model, lookup)
        for relation, lookup in dependants(model)
        if relation.on_delete is models.CASCADE
    ]
    related = {related_model for related_model, _ in found}
    return sorted(found, key=lambda each: (-each[1].count("__"), -sum(refers_to(each[0], other) for other in related)))


def refers_to(model: type[models.Model], other: type[models.Model]) -> bool:
    """Return whether ``model`` has a foreign key to ``other``. This is false for ``model`` itself."""
    return model is not other and any(field.related_model is other for field in model._meta.concrete_fields)


def dependent_rows(model: type[models.Model], primary_keys: list[Any], using: str) -> tuple[list[Any], list[Any]]:
    """Return querysets of the rows that prevent the deletion of these rows, and of those that are deleted with them."""
    protecting, cascading = list[Any](), list[Any]()
    for relation, path in dependants(model):
        rows = relation.related_model._base_manager.using(using).filter(**{f"{path}__pk__in": primary_keys})
        (cascading if relation.on_delete is models.CASCADE else protecting).append(rows)
    return protecting, cascading
