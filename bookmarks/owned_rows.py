"""Look up, update and delete rows of a user group by their public id, a UUID
that clients treat as opaque text.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Self, TypeVar
from uuid import UUID

from django.db import models
from django.db.models import ProtectedError, RestrictedError
from django.utils.translation import gettext_lazy as _
from uuid_utils.compat import uuid7

from usergroups.db.cascades import ProtectingError, retry_deletion
from usergroups.db.compiled_statements import select_statement
from usergroups.db.models import DatedModel
from usergroups.db.querysets import WritingManager, WritingQuerySet
from usergroups.db.retry import retry_on_conflict
from usergroups.db.versions import Versions
from usergroups.events import Event, Kind, keys_text, record_events
from usergroups.models import UserGroup

from .deleted_bookmarks import Deletion

M = TypeVar("M", bound="PublicIdModel")


class Duplicate(Exception):
    """The change violates a uniqueness constraint.

    ``key`` is the primary key of the row in the way, and ``changed`` has the
    names of the fields that would have changed.
    """

    def __init__(self, key: UUID, changed: Iterable[str]) -> None:
        super().__init__(key)
        self.key = key
        self.changed = frozenset(changed)


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


class PublicIdModel(DatedModel):
    """A model whose rows belong to a user group and have a public id."""

    id = models.UUIDField("ID", primary_key=True, default=uuid7, editable=False)
    user_group = models.ForeignKey(
        UserGroup,
        models.CASCADE,
        # "bookmarks" and "collections"
        related_name="%(class)ss",
        # Other indexes begin with the user group.
        db_index=False,
        verbose_name=_("user group"),
    )

    class Meta:
        abstract = True

    @classmethod
    def cleaned(cls, user_group: UserGroup, **fields: object) -> Self:
        """Return a row with these valid fields, which is not saved.

        Raises ValidationError if a value is invalid, or a row that it names
        belongs to another user group.
        """
        row = cls(user_group=user_group, **cls.cleaned_values(fields))
        row.clean()
        return row


class PublicIdQuerySet(WritingQuerySet[M]):
    """Deletes rows of user groups, and records their deletions."""

    deletion_record = Deletion

    def delete(self) -> tuple[int, dict[str, int]]:
        rows = self.for_write()
        return retry_deletion(rows._delete_by_user_group, rows.db)

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


class PublicIdManager(WritingManager[M]):
    """Reads and writes the rows of a user group by their public id."""

    def find_by_id(self, user_group: UserGroup, public_id: object) -> M | None:
        """Return the user group's row with this id, or None."""
        key = parse_public_id(public_id)
        if key is None:
            return None
        select = select_statement(self.model, self.db, "user_group", "id")
        found = select.execute(user_group=user_group, id=key)
        return next(iter(found), None)

    def update_by_id(
        self,
        user_group: UserGroup,
        public_id: object,
        versions: Versions = None,
        **changes: object,
    ) -> M:
        """Update only the given fields of the user group's row with this id,
        and return the row as it is afterwards.

        Raises DoesNotExist if there is no such row, Modified if its
        ``updated_at`` is not among ``versions``, ValidationError if a value is
        invalid, Duplicate if the change violates a uniqueness constraint, and
        IntegrityError if it refers to a row that has been deleted.
        """
        cleaned = self._cleaned_changes(changes)
        self.model(user_group=user_group, **cleaned).clean()
        rows = self.on_db_for_write()
        key = {"user_group": user_group, "id": parse_public_id(public_id)}

        def refuse_duplicate() -> None:
            changed = rows.get(**key)
            for name, value in cleaned.items():
                setattr(changed, name, value)
            duplicate = rows._find_duplicate(user_group, changed)
            if duplicate is not None:
                raise Duplicate(duplicate, changes)

        return retry_on_conflict(
            lambda: rows._update_by_key(key, versions, cleaned),
            rows.db,
            refuse_duplicate,
            atomic=False,
        )

    def delete_by_id(
        self,
        user_group: UserGroup,
        public_id: object,
        versions: Versions = None,
    ) -> None:
        """Delete the user group's row with this id.

        Raises DoesNotExist if there is no such row, and Modified if its
        ``updated_at`` is not among ``versions``. A call has limited time, so
        this raises TooManyDependants if too many rows depend on the row, which
        ``delete()`` would delete.
        """
        rows = self.on_db_for_write().get_queryset()
        key = parse_public_id(public_id)
        rows.filter(user_group=user_group, pk=key)._delete_only_row(versions)

    def delete_by_ids(
        self, user_group: UserGroup, public_ids: Sequence[object]
    ) -> list[bool | ProtectingError]:
        """Delete rows and return, in order, whether each existed.

        Return the error for a row that cannot be deleted, because rows of the
        host project refer to it.
        """
        keys = [parse_public_id(public_id) for public_id in public_ids]
        rows = self.on_db_for_write().get_queryset()
        rows = rows.filter(user_group=user_group, pk__in=keys)

        def delete() -> set[UUID | None]:
            locked = rows.select_for_update().order_by("pk")
            found = set(locked.values_list("pk", flat=True))
            if found:
                rows._delete()
                label = self.model._meta.label_lower
                event = Event(
                    user_group=user_group,
                    kind=Kind.DELETED,
                    model=label,
                    keys=keys_text(found),
                    counts={label: len(found)},
                )
                record_events([event], rows.db)
            return found

        try:
            deleted = retry_deletion(delete, rows.db)
        except (ProtectedError, RestrictedError):
            return [self._try_to_delete(user_group, each) for each in public_ids]
        existed: list[bool | ProtectingError] = []
        for key in keys:
            existed.append(key in deleted)
            # A repeated id is reported as deleted only once.
            deleted.discard(key)
        return existed

    def _try_to_delete(
        self, user_group: UserGroup, public_id: object
    ) -> bool | ProtectingError:
        """Delete one row, and return what ``delete_by_ids`` returns for it."""
        try:
            self.delete_by_id(user_group, public_id)
        except self.model.DoesNotExist:
            return False
        except (ProtectedError, RestrictedError) as error:
            return error
        return True

    def _find_duplicate(self, user_group: UserGroup, changed: M) -> UUID | None:
        """Return the key of the user group's row that this row, whose changes
        are not saved, duplicates, or None.
        """
        raise NotImplementedError
