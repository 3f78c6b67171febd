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


def cascading_relations(
    model: type[models.Model], path: str = ""
) -> Iterator[tuple[models.ForeignObjectRel, str]]:
    """Yield the direct and indirect relations by which deletions in ``model``
    cascade, with the lookups back to it.
    """
    for relation in model._meta.get_fields(include_hidden=True):
        if (
            isinstance(relation, models.ManyToOneRel)
            and relation.on_delete is models.CASCADE
        ):
            lookup = f"{relation.field.name}__{path}".removesuffix("__")
            yield relation, lookup
            if lookup.count("__") + 1 < MAX_FOREIGN_KEYS:
                # Their lookups end with this one.
                yield from cascading_relations(relation.related_model, lookup)
