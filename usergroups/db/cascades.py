"""Find the rows that a deletion deletes as well.

``WritingQuerySet`` counts them before it deletes, and the admin lists them.
"""

from collections.abc import Callable, Iterator
from typing import TypeVar

from django.db import IntegrityError, models
from django.db.models import ProtectedError, RestrictedError

from .retry import retry_on_conflict

T = TypeVar("T")

DELETED_AT_ONCE = 2_000
"""The number of rows that a statement deletes, which contains their keys."""


MAX_DEPENDANTS = 100_000
"""The maximum number of rows, by one relation, that are deleted or detached
with a row while a client waits.
"""


MAX_FOREIGN_KEYS = 5
"""The length of the longest chain of foreign keys from a dependant to a row
that is followed. There is a limit, because models may refer to each other in a
cycle.
"""


ProtectingError = ProtectedError | RestrictedError
"""Raised instead of a deletion if rows of the host project refer to the row
with PROTECT or RESTRICT.
"""


class TooManyDependants(Exception):
    """More rows depend on a row than can be deleted while a client waits.

    The argument is their model.
    """


def retry_deletion(action: Callable[[], T], using: str) -> T:
    """Run an action that deletes rows as ``retry_on_conflict`` does.

    Raises a ProtectingError, also if rows of the host project refer to the
    deleted ones with DO_NOTHING, which the database notices at the commit.
    """
    try:
        return retry_on_conflict(action, using)
    except (ProtectedError, RestrictedError):
        raise
    except IntegrityError as error:
        raise ProtectedError("Other rows refer to this one.", set()) from error


def reverse_relations(model: type[models.Model]) -> list[models.ManyToOneRel]:
    """Return the relations by which rows refer to rows of this model,
    including hidden ones, such as those of a ManyToManyField.
    """
    fields = model._meta.get_fields(include_hidden=True)
    return [field for field in fields if isinstance(field, models.ManyToOneRel)]


def cascading_relations(
    model: type[models.Model], path: str = ""
) -> Iterator[tuple[models.ManyToOneRel, str]]:
    """Yield the relations by which deletions in ``model`` cascade, directly or
    through other models.

    With each relation, yield the lookup that leads from its dependants back to
    ``model``, such as "collection__user_group". It ends with ``path``.
    """
    for relation in reverse_relations(model):
        if relation.on_delete is not models.CASCADE:
            continue
        # A model that inherits from another one also has the relations to it,
        # which the lookup does not reach from here.
        referred = relation.model
        if path and referred._meta.concrete_model is not model._meta.concrete_model:
            continue
        lookup = relation.field.name
        if path:
            lookup = f"{lookup}__{path}"
        yield relation, lookup
        foreign_keys = lookup.count("__") + 1
        if foreign_keys < MAX_FOREIGN_KEYS:
            yield from cascading_relations(relation.related_model, lookup)
