"""Rows that callers know by an opaque id."""

from contextlib import suppress
from typing import Any, Self, TypeVar
from uuid import UUID

from django.db import models, router

from usergroups.transactions import retry_on_conflict

M = TypeVar("M", bound=models.Model)


class Duplicate(Exception):
    """What was asked for would be there twice."""


def key_of(public_id: object) -> UUID | None:
    """Return the key of the row with this id; None for any other text or type than exactly what the API gives."""
    with suppress(ValueError):
        if str(key := UUID(str(public_id))) == public_id:
            return key
    return None


class PublicIdQuerySet(models.QuerySet[M]):
    def get_by_public_id(self, public_id: object) -> M:
        """Raises DoesNotExist."""
        if (key := key_of(public_id)) is None:
            raise self.model.DoesNotExist  # type: ignore[attr-defined]
        return self.get(pk=key)

    def change(self, public_id: object, **changes: Any) -> M:
        """Set the fields in ``changes`` and no others; return the row as it stands afterwards.

        Raises DoesNotExist; Duplicate if it would be there twice; IntegrityError if it would refer to what is gone.
        """
        rows = self.for_write().filter(pk=key_of(public_id))

        def update() -> M:
            if changes:
                rows.update(**changes)
            return rows.get()

        def refuse_duplicate() -> None:
            if rows.has_rival(**changes):
                raise Duplicate

        return retry_on_conflict(update, rows.db, refuse_duplicate)

    def has_rival(self, **changes: Any) -> bool:
        """Whether the only row of these would be another's duplicate with ``changes``."""
        raise NotImplementedError

    def for_write(self) -> Self:
        return self.using(router.db_for_write(self.model))

    def remove(self, public_id: object) -> None:
        """Raises DoesNotExist."""
        rows = self.for_write().filter(pk=key_of(public_id))
        deleted, _ = retry_on_conflict(rows.delete, rows.db)
        if not deleted:
            raise self.model.DoesNotExist  # type: ignore[attr-defined]
