"""Look up, update and delete rows of a user group by their public id, a UUID
that clients treat as opaque text.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from functools import cache
from typing import Any, Self, TypeVar
from uuid import UUID

from usergroups.db.compiled_statements import (
    CompiledStatement,
    compile_select,
    parameters,
)
from usergroups.db.models import WritingModel
from usergroups.db.querysets import WritingQuerySet
from usergroups.db.retry import retry_on_conflict
from usergroups.models import UserGroup

from .deletions import Deletion

M = TypeVar("M", bound=WritingModel)


class Duplicate(Exception):
    """The change violates a uniqueness constraint.

    ``key`` is the primary key of the row in the way.
    """

    def __init__(self, key: UUID) -> None:
        super().__init__(key)
        self.key = key


def parse_public_id(public_id: object) -> UUID | None:
    """Return the UUID, or None if the text is not a UUID in canonical form.

    Python code may also pass a UUID.
    """
    text = str(public_id)
    with suppress(ValueError):
        key = UUID(text)
        if str(key) == text:
            return key
    return None


class PublicIdQuerySet(WritingQuerySet[M]):
    """Reads and writes the rows of a user group by their public id."""

    recorded_fields = ("user_group",)

    def record_deletions(self, rows: Sequence[M], now: datetime) -> None:
        Deletion.objects.using(self.db).bulk_create(
            Deletion(
                user_group_id=row.user_group_id,  # type: ignore[attr-defined]
                object_type=str(self.model._meta.model_name),
                object_id=row.pk,
                deleted_at=now,
            )
            for row in rows
        )

    def find_by_id(
        self, user_group: UserGroup, public_id: object, *, for_write: bool = False
    ) -> M | None:
        """Return the user group's row with this id, or None.

        With ``for_write``, read the database for writes.
        """
        key = parse_public_id(public_id)
        if key is None:
            return None
        rows = self.for_write() if for_write else self
        if rows.has_filters:
            return rows.filter(user_group=user_group, pk=key).first()
        select = _select_by_id(type(rows), rows.model, rows.db)
        found = select.execute(user_group=user_group, id=key)
        return found[0] if found else None

    def update_by_id(
        self,
        user_group: UserGroup,
        public_id: object,
        versions: Sequence[datetime] | None = None,
        **changes: Any,
    ) -> M:
        """Update only the given fields of the user group's row with this id,
        and return the row as it is afterwards.

        Raises DoesNotExist if there is no such row, Modified if its
        ``updated_at`` is not among ``versions``, ValidationError if a value is
        invalid, Duplicate if the change violates a uniqueness constraint, and
        IntegrityError if it refers to a row that has been deleted.
        """
        self.model(**changes).validate_fields(changes)
        rows = self._with_id(user_group, public_id)

        def refuse_duplicate() -> None:
            key = rows._find_duplicate(user_group, changes)
            if key is not None:
                raise Duplicate(key)

        return retry_on_conflict(
            lambda: rows._update_version(versions, **changes),
            rows.db,
            refuse_duplicate,
        )

    def delete_by_id(
        self,
        user_group: UserGroup,
        public_id: object,
        versions: Sequence[datetime] | None = None,
    ) -> None:
        """Delete the user group's row with this id.

        Raises DoesNotExist if there is no such row, Modified if its
        ``updated_at`` is not among ``versions`` and, unlike ``delete()``,
        TooManyDependants if too many rows depend on it.
        """
        self._with_id(user_group, public_id)._delete_version(versions)

    def delete(self) -> tuple[int, dict[str, int]]:
        rows = self.for_write()
        return retry_on_conflict(rows._delete_by_user_group, rows.db)

    delete.queryset_only = True  # type: ignore[attr-defined]

    def _delete_by_user_group(self) -> tuple[int, dict[str, int]]:
        """Delete the rows of one user group after the other.

        Citus can lock rows only in a statement that names the user group.
        """
        counts = Counter[str]()
        user_groups = self.order_by().values_list("user_group", flat=True).distinct()
        # PostgreSQL cannot lock the rows of such a query.
        user_groups.query.select_for_update = False
        for user_group in sorted(user_groups):
            _, counts_by_model = self.filter(user_group=user_group)._delete()
            counts.update(counts_by_model)
        return counts.total(), dict(counts)

    def _with_id(self, user_group: UserGroup, public_id: object) -> Self:
        """Filter the user group's row with this id, on the database for
        writes.
        """
        key = parse_public_id(public_id)
        return self.for_write().filter(user_group=user_group, pk=key)

    def _find_duplicate(
        self, user_group: UserGroup, changes: Mapping[str, Any]
    ) -> UUID | None:
        """Return the key of the user group's row that the only row of this
        queryset would duplicate with these changes, or None.
        """
        raise NotImplementedError


@cache
def _select_by_id(queryset: Any, model: Any, using: str) -> CompiledStatement[Any]:
    """Return the statement that reads a row of a user group by its id."""
    rows = queryset(model, using=using)
    return compile_select(rows.filter(**parameters(model, "user_group", "id")))
