"""Find the rows that a deletion deletes as well."""

from collections.abc import Iterator

from django.db import models

MAX_DELETED = 2_000  # rows at a time, because the query contains their primary keys


MAX_DEPENDANTS = 100_000
"""The maximum number of rows, by one relation, that are deleted or detached
with a row while a client waits.
"""


# in a chain from a row to its dependants, because models may refer to each
# other in a cycle
MAX_FOREIGN_KEYS = 5


class TooManyDependants(Exception):
    """More rows depend on a row than can be deleted while a client waits.

    The argument is their model.
    """


def reverse_relations(model: type[models.Model]) -> list[models.ManyToOneRel]:
    """Return the relations by which rows refer to rows of this model,
    including hidden ones, such as those of a ManyToManyField.
    """
    fields = model._meta.get_fields(include_hidden=True)
    return [field for field in fields if isinstance(field, models.ManyToOneRel)]


def cascading_relations(
    model: type[models.Model], path: str = ""
) -> Iterator[tuple[models.ManyToOneRel, str]]:
    """Yield the direct and indirect relations by which deletions in ``model``
    cascade, with the lookups back to it.
    """
    for relation in reverse_relations(model):
        if relation.on_delete is not models.CASCADE:
            continue
        name = relation.field.name
        lookup = f"{name}__{path}" if path else name
        yield relation, lookup
        if lookup.count("__") + 1 < MAX_FOREIGN_KEYS:
            # Their lookups end with this one.
            yield from cascading_relations(relation.related_model, lookup)
