"""Look up, update and delete rows by their public id. Clients treat it as opaque text. It is a UUID."""

from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any, TypeVar
from uuid import UUID

from django.db import models

from usergroups.transactions import WritingQuerySet, retry_on_conflict

M = TypeVar("M", bound=models.Model)


class Duplicate(Exception):
    """The change violates a uniqueness constraint. ``key`` is the primary key of the row in the way."""

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
    def get_by_public_id(self, public_id: object) -> M:
        """Return the row. Raises DoesNotExist if there is none."""
        if (key := parse_public_id(public_id)) is None:
            raise self.model.DoesNotExist  # type: ignore[attr-defined]
        return self.get(pk=key)

    def change(self, public_id: object, versions: Sequence[datetime] | None = None, **changes: Any) -> M:
        """Update only the given fields and return the row as it is afterwards.

        Raises DoesNotExist if there is no such row, Modified if it has another version, Duplicate if the change
        violates a uniqueness constraint, and IntegrityError if it refers to a row that has been deleted.
        """
        rows = self.for_write().filter(pk=parse_public_id(public_id))

        def refuse_duplicate() -> None:
            if key := rows.duplicate_of(**changes):
                raise Duplicate(key)

        return retry_on_conflict(lambda: rows.update_version(versions, **changes), rows.db, refuse_duplicate)

    def duplicate_of(self, **changes: Any) -> UUID | None:
        """Return the key of the row that the changes would duplicate. The queryset contains only the row to change."""
        raise NotImplementedError

    def remove(self, public_id: object, versions: Sequence[datetime] | None = None) -> None:
        """Delete the row.

        Raises DoesNotExist if there is no such row, Modified if it has another version and, unlike ``delete()``,
        TooManyDependants.
        """
        self.for_write().filter(pk=parse_public_id(public_id)).delete_version(versions)
