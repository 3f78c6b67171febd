"""Look up, update and delete rows by their public id, a UUID that clients
treat as opaque text.
"""

from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from functools import cache
from typing import Any, TypeVar
from uuid import UUID

from django.db import models

from usergroups.db.compiled_statements import CompiledSelect, parameters
from usergroups.db.querysets import WritingQuerySet
from usergroups.db.retry import retry_on_conflict
from usergroups.models import UserGroup

M = TypeVar("M", bound=models.Model)


class Duplicate(Exception):
    """The change violates a uniqueness constraint.

    ``key`` is the primary key of the row in the way.
    """

    def __init__(self, key: UUID) -> None:
        super().__init__(key)
        self.key = key


def parse_public_id(public_id: object) -> UUID | None:
    """Return the UUID, or None if the text is not a UUID in canonical form."""
    with suppress(ValueError):
        if str(key := UUID(str(public_id))) == public_id:
            return key
    return None


class PublicIdQuerySet(WritingQuerySet[M]):
    def find(
        self, user_group: UserGroup, public_id: object, *, for_write: bool = False
    ) -> M | None:
        """Return the user group's row with this id, or None.

        With ``for_write``, read the database for writes.

        Call this on the manager, because the filters of a queryset are
        ignored.
        """
        if (key := parse_public_id(public_id)) is None:
            return None
        select = _select_by_id(
            type(self), self.model, self.db_for_write if for_write else self.db
        )
        return next(iter(select(user_group=user_group.pk, id=key)), None)

    def change(
        self,
        public_id: object,
        versions: Sequence[datetime] | None = None,
        **changes: Any,
    ) -> M:
        """Update only the given fields and return the row as it is afterwards.

        Raises DoesNotExist if there is no such row, Modified if its
        ``updated_at`` is not among ``versions``, Duplicate if the change
        violates a uniqueness constraint, and IntegrityError if it refers to a
        row that has been deleted.
        """
        rows = self.for_write().filter(pk=parse_public_id(public_id))

        def refuse_duplicate() -> None:
            if key := rows.duplicate_of(**changes):
                raise Duplicate(key)

        return retry_on_conflict(
            lambda: rows.update_version(versions, **changes),
            rows.db,
            explain=refuse_duplicate,
        )

    def duplicate_of(self, **changes: Any) -> UUID | None:
        """Return the key of the row that would be duplicated, or None.

        The queryset has only the row to change.
        """
        raise NotImplementedError

    def remove(
        self, public_id: object, versions: Sequence[datetime] | None = None
    ) -> None:
        """Delete the row.

        Raises DoesNotExist if there is no such row, Modified if its
        ``updated_at`` is not among ``versions`` and, unlike ``delete()``,
        TooManyDependants if too many rows depend on it.
        """
        self.for_write().filter(pk=parse_public_id(public_id)).delete_version(versions)


@cache
def _select_by_id(queryset: Any, model: Any, using: str) -> CompiledSelect[Any]:
    """Return the compiled statement that reads a row of a user group by its
    id.
    """
    return CompiledSelect(
        queryset(model, using=using).filter(**parameters(model, "user_group", "id"))
    )
