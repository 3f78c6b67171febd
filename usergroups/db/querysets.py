"""The base class of querysets that write."""

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any, Self, TypeVar

from django.db import models, router
from django.db.models import Value
from django.utils import timezone

from usergroups.signals import deleted

from . import deletion
from .announcements import announce, announce_update
from .deletion import MAX_DELETED, TooManyDependants, cascading_relations
from .retry import retry_on_conflict
from .versions import Modified, time_of_change

M = TypeVar("M", bound=models.Model)


class WritingQuerySet(models.QuerySet[M]):
    """A queryset with methods that write and announce what they have written.

    Their argument ``versions`` contains the accepted values of the row's
    ``updated_at``, or is None for any.
    """

    @property
    def db_for_write(self) -> str:
        """The database of ``using()``, or else the one that the router chooses
        for writes.
        """
        # as in ``db``
        return self._db or router.db_for_write(self.model, **self._hints)  # type: ignore[attr-defined]

    def for_write(self) -> Self:
        """Return the queryset on the database ``db_for_write``."""
        return self.using(self.db_for_write)

    def update_version(self, versions: Sequence[datetime] | None, **changes: Any) -> M:
        """Update the queryset's only row and return it.

        Call this in a transaction.

        If the row has these values already, its ``updated_at`` does not change
        either, and nothing is announced. Raises DoesNotExist, or Modified if
        the row has another version.
        """
        now = timezone.now()
        if not changes:
            self.require_version(versions)
        else:
            rows = self if versions is None else self.filter(updated_at__in=versions)
            count = rows.update(
                **changes, updated_at=time_of_change(self.model, changes, Value(now))
            )
            if not count and versions is not None and self.exists():
                raise Modified
        row = self.get()
        if row.updated_at == now:  # type: ignore[attr-defined]
            announce_update([row], self.db, changes)
        return row

    def delete_version(self, versions: Sequence[datetime] | None) -> None:
        """Delete the queryset's only row.

        Raises DoesNotExist, Modified or TooManyDependants.
        """

        def delete() -> int:
            self.require_version(versions)
            self.require_few_dependants()
            return self._delete()[0]

        if not retry_on_conflict(delete, self.db):
            raise self.model.DoesNotExist  # type: ignore[attr-defined]

    def delete(self) -> tuple[int, dict[str, int]]:
        """Delete the rows and their dependants in one transaction.

        Announce the deletion of the rows only.
        """
        rows = self.for_write()
        return retry_on_conflict(rows._delete, rows.db)

    # as in Django: managers do not have it
    delete.queryset_only = True  # type: ignore[attr-defined]

    def _delete(self) -> tuple[int, dict[str, int]]:
        """Do what ``delete()`` does, in the current transaction and database."""
        is_announced = deleted.has_listeners(self.model)
        if not is_announced and not self.model._meta.related_objects:
            return super().delete()
        rows, counts = (
            self.select_related(None).defer(None).order_by("pk"),
            Counter[str](),
        )
        # PostgreSQL cannot lock the rows of such a query.
        if rows.query.distinct or rows.query.group_by:
            rows = type(self)(self.model, using=self.db).filter(
                pk__in=list(rows.values_list("pk", flat=True))
            )
        # Lock the rows first, so that a concurrent insert of a dependant
        # waits, and then fails.
        locked = list((rows if is_announced else rows.only("pk")).select_for_update())
        announce(deleted, locked, self.db)
        keys = [row.pk for row in locked]
        self.release_dependants(keys)
        for start in range(0, len(keys), MAX_DELETED):
            chunk = rows.order_by().filter(pk__in=keys[start : start + MAX_DELETED])
            counts.update(super(WritingQuerySet, chunk).delete()[1])
        return counts.total(), dict(counts)

    def release_dependants(self, keys: Sequence[Any]) -> None:
        """Detach the dependants that are kept when the rows with these keys
        are deleted. By default, there are none.
        """

    def require_few_dependants(self) -> None:
        """Raise TooManyDependants if more than MAX_DEPENDANTS rows depend on
        the rows by one relation.
        """
        if self.model._meta.related_objects:
            for rows in self.dependants(list(self.values_list("pk", flat=True))):
                limit = deletion.MAX_DEPENDANTS
                if rows[: limit + 1].count() > limit:
                    raise TooManyDependants(rows.model)

    def dependants(self, keys: Sequence[Any]) -> Iterator[models.QuerySet[Any]]:
        """Yield, for each relation, the rows deleted with the rows of these
        keys. A subclass adds those it detaches.
        """
        for relation, path in cascading_relations(self.model):
            yield relation.related_model._base_manager.using(self.db).filter(
                **{f"{path}__pk__in": keys}
            )

    def require_version(self, versions: Sequence[datetime] | None) -> None:
        """Lock the row and check its version, unless ``versions`` is None.

        Raises DoesNotExist or Modified.
        """
        if versions is None:
            return
        if (
            self.select_for_update().values_list("updated_at", flat=True).get()
            not in versions
        ):
            raise Modified
