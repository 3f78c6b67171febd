"""The base classes of querysets and managers that write."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from functools import cache
from typing import Any, Self, TypeVar, cast

from django.core.exceptions import ValidationError
from django.db import models, router
from django.utils import timezone

from usergroups.signals import deleted

from . import cascades
from .announcements import announce, announce_update
from .cascades import (
    DELETED_AT_ONCE,
    TooManyDependants,
    cascading_relations,
    retry_deletion,
    reverse_relations,
)
from .compiled_statements import update_statement
from .deletion_records import DeletionRecord
from .versions import Modified, Versions

M = TypeVar("M", bound=models.Model)


class WritingQuerySet(models.QuerySet[M]):
    """A queryset with methods that write and announce what they have written."""

    deletion_record: type[DeletionRecord] | None = None
    """The model of the records of deleted rows, if deletions are recorded."""

    @property
    def db_for_write(self) -> str:
        """The database of ``using()``, or else the one that the router chooses
        for writes.
        """
        # Django's property ``db`` does the same, but for reads.
        hints = self._hints  # type: ignore[attr-defined]
        using: str | None = self._db  # type: ignore[attr-defined]
        return using or router.db_for_write(self.model, **hints)

    def for_write(self) -> Self:
        """Return the queryset on the database ``db_for_write``."""
        return self.using(self.db_for_write)

    def _delete_only_row(self, versions: Versions) -> None:
        """Delete the queryset's only row, if it has one of these versions.

        Raises DoesNotExist, Modified, TooManyDependants or a ProtectingError.
        """

        def delete() -> int:
            if versions is not None:
                locked = self.select_for_update().values_list("updated_at", flat=True)
                if locked.get() not in versions:
                    raise Modified
            self._require_few_dependants(cascades.MAX_DEPENDANTS)
            return self._delete()[0]

        if not retry_deletion(delete, self.db):
            raise self.model.DoesNotExist  # type: ignore[attr-defined]

    def delete(self) -> tuple[int, dict[str, int]]:
        """Delete the rows and their dependants in one transaction.

        Announce the deletion of the rows only.
        """
        rows = self.for_write()
        return retry_deletion(rows._delete, rows.db)

    # Managers do not have this method, as in Django.
    delete.queryset_only = True  # type: ignore[attr-defined]

    def _delete(self) -> tuple[int, dict[str, int]]:
        """Do what ``delete()`` does, in the current transaction and database."""
        is_announced = deleted.has_listeners(self.model)
        record = self.deletion_record
        if not (is_announced or record or reverse_relations(self.model)):
            return super().delete()
        rows = self.select_related(None).prefetch_related(None)
        rows = rows.defer(None).order_by("pk")
        # PostgreSQL cannot lock the rows of such a query, so select them by
        # their keys.
        if rows.query.distinct or rows.query.group_by:
            found = list(rows.values_list("pk", flat=True))
            rows = type(self)(self.model, using=self.db).filter(pk__in=found)
        # Lock the rows first, so that a concurrent insert of a dependant
        # waits, and then fails.
        to_lock = rows.select_for_update()
        if not is_announced:
            copied = record.copied if record else ()
            to_lock = to_lock.only("pk", *copied)
        locked = list(to_lock)
        announce(deleted, locked, self.db)
        keys = [row.pk for row in locked]
        self.prepare_deletion(keys)
        now = timezone.now()
        counts = Counter[str]()
        for start in range(0, len(keys), DELETED_AT_ONCE):
            self.record_deletions(locked[start : start + DELETED_AT_ONCE], now)
            keys_of_chunk = keys[start : start + DELETED_AT_ONCE]
            chunk = rows.filter(pk__in=keys_of_chunk)
            # Django's own delete()
            _, counts_by_model = super(WritingQuerySet, chunk).delete()
            counts.update(counts_by_model)
        if keys:
            self.record_counts(keys, counts)
        return counts.total(), dict(counts)

    def record_deletions(self, rows: Sequence[M], now: datetime) -> None:
        """Insert the records of these rows, if deletions are recorded, in the
        transaction that deletes them.
        """
        if self.deletion_record is not None:
            records = [self.deletion_record.of(row, now) for row in rows]
            self.deletion_record._base_manager.using(self.db).bulk_create(records)

    def prepare_deletion(self, keys: Sequence[object]) -> None:
        """Do what must precede the deletion of the rows with these keys, such
        as to detach the rows that are kept. By default, this is nothing.
        """

    def record_counts(self, keys: Sequence[object], counts: Mapping[str, int]) -> None:
        """Record that the rows with these keys were deleted, with the numbers
        of all deleted rows by the label of their model. By default, this is
        not recorded.
        """

    def _require_few_dependants(self, limit: int) -> None:
        """Raise TooManyDependants if more than ``limit`` rows depend on the
        rows by one relation.
        """
        if not reverse_relations(self.model):
            return
        for rows in self.dependants(list(self.values_list("pk", flat=True))):
            if rows[: limit + 1].count() > limit:
                raise TooManyDependants(rows.model)

    def dependants(
        self, keys: Sequence[object]
    ) -> Iterator[models.QuerySet[models.Model]]:
        """Yield, for each cascading relation, the rows that are deleted with
        the rows that have these keys.

        Records of deletions do not count, because nobody sees them disappear.

        A subclass also yields the rows that ``prepare_deletion`` detaches.
        """
        for relation, path in cascading_relations(self.model):
            if issubclass(relation.related_model, DeletionRecord):
                continue
            rows = relation.related_model._base_manager.using(self.db)
            yield rows.filter(**{f"{path}__pk__in": keys})

    def dependants_by_model(
        self, keys: Sequence[object]
    ) -> dict[type[models.Model], models.QuerySet[models.Model]]:
        """Return the rows of ``dependants()`` for each model.

        Several foreign keys may lead to a model. Each of its rows counts once.
        """
        by_model: dict[type[models.Model], models.QuerySet[models.Model]] = {}
        for rows in self.dependants(keys):
            others = by_model.get(rows.model, rows.none())
            by_model[rows.model] = others | rows
        return by_model


class WritingManager(models.Manager[M]):
    """A manager with the methods that take the owner of the rows.

    Querysets do not have them, because compiled statements would ignore their
    filters. Nor have the managers of relations, which Django derives from the
    first manager of a model.
    """

    changeable: frozenset[str] = frozenset()
    """The fields that the methods can change."""

    deferred_after_update: tuple[str, ...] = ()
    """Large fields, which an updated row is returned without."""

    def get_queryset(self) -> WritingQuerySet[M]:
        return cast(WritingQuerySet[M], super().get_queryset())

    @property
    def db_for_write(self) -> str:
        """The database of ``db_manager()``, or else the one for writes."""
        return self._db or router.db_for_write(self.model)

    def on_db_for_write(self) -> Self:
        """Return the manager on the database for writes."""
        if self._db is not None:
            return self
        return cast(Self, _kept_manager(self, self.db_for_write))

    def _cleaned_changes(self, changes: Mapping[str, object]) -> dict[str, object]:
        """Return the values to store. Raises ValidationError."""
        for name in changes.keys() - self.changeable:
            raise ValidationError({name: "The field cannot be changed."})
        model: Any = self.model
        cleaned: dict[str, object] = model.cleaned_values(changes)
        return cleaned

    def _update_by_key(
        self,
        key: Mapping[str, object],
        versions: Versions,
        changes: Mapping[str, object],
    ) -> M:
        """Update the row that has the values of ``key``, and return it.

        If the row has the new values already, its ``updated_at`` does not
        change either, and nothing is announced. Raises DoesNotExist, or
        Modified if the row has another version.
        """
        now = timezone.now()
        updated = []
        # No row has one of no versions, and the ORM compiles no such condition.
        if versions is None or versions:
            accepted = {f"version{n}": each for n, each in enumerate(versions or ())}
            statement = update_statement(
                self.model,
                self.db,
                tuple(key),
                tuple(changes),
                versions=tuple(accepted),
                deferred=self.deferred_after_update,
            )
            updated = statement.execute(**key, **accepted, **changes, updated_at=now)
        if not updated:
            if versions is not None and self.filter(**key).exists():
                raise Modified
            raise self.model.DoesNotExist  # type: ignore[attr-defined]
        # Otherwise, the row had these values already.
        if updated[0].updated_at == now:
            announce_update(updated, self.db, changes)
        return cast(M, updated[0])


@cache
def _kept_manager(manager: WritingManager[M], using: str) -> WritingManager[M]:
    """Return the manager on the database ``using``.

    A copy for each call would be 1 % of the function calls of a PUT.
    """
    return manager.db_manager(using)
