"""Find the relations through which a deletion cascades, or which protect a row from deletion."""

from collections.abc import Iterator

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
