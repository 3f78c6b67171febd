"""The rows that depend on a row: those that a deletion cascades to, and those that protect it."""

from collections.abc import Iterator
from typing import Any

from django.db import models

MAX_STEPS = 4  # from a row to a dependant: models may refer to each other in a circle
CASCADING_OR_PROTECTING = (models.CASCADE, models.PROTECT, models.RESTRICT)


def dependants(model: type[models.Model], path: str = "") -> Iterator[tuple[models.ForeignObjectRel, str]]:
    """Yield the relations that cascade or protect, and the lookup from each related model back to ``model``."""
    for relation in model._meta.get_fields(include_hidden=True):
        if isinstance(relation, models.ManyToOneRel) and relation.on_delete in CASCADING_OR_PROTECTING:
            way = f"{relation.field.name}__{path}".removesuffix("__")
            yield relation, way
            if relation.on_delete is models.CASCADE and way.count("__") < MAX_STEPS:
                yield from dependants(relation.related_model, way)


def cascades(model: type[models.Model]) -> list[tuple[Any, str]]:
    """Return the models that a deletion cascades to, with their lookups, in an order in which they can be deleted."""
    ways = [
        (relation.related_model, way) for relation, way in dependants(model) if relation.on_delete is models.CASCADE
    ]
    found = {related for related, _ in ways}
    return sorted(ways, key=lambda each: (-each[1].count("__"), -sum(refers(each[0], other) for other in found)))


def refers(model: type[models.Model], other: type[models.Model]) -> bool:
    """Return whether ``model`` has a foreign key to ``other``, which is another model."""
    return model is not other and any(field.related_model is other for field in model._meta.concrete_fields)
