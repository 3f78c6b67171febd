"""Write to the right database, announce the writes, detect lost updates, and retry conflicting transactions."""

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from copy import copy
from datetime import datetime
from typing import Any, ClassVar, Self, TypeVar

from django.db import (
    IntegrityError,
    InternalError,
    OperationalError,
    connections,
    models,
    router,
    transaction,
)
from django.db.models.signals import post_save
from django.utils import timezone

from .database_errors import is_conflict, is_violation
from .distribution import key_columns, lock, rows_filter
from .prepared_statements import in_autocommit
from .signals import announce, announce_save, announce_update, deleted

T = TypeVar("T")
M = TypeVar("M", bound=models.Model)

ATTEMPTS = 4
MAX_DELETED = 2_000  # rows in one query, if there are receivers


class Modified(Exception):
    """The row has changed since the client read it."""


class WritingQuerySet(models.QuerySet[M]):
    """A queryset with methods that write.

    Their argument ``versions`` holds the values of ``updated_at`` that the row may have, or is None for any.
    """

    @property
    def db_for_write(self) -> str:
        """The database of ``using()``, or else the one that the router chooses for writes."""
        return self._db or router.db_for_write(self.model, **self._hints)  # type: ignore[attr-defined]  # as in ``db``

    def for_write(self) -> Self:
        """Return the queryset on the database ``db_for_write``."""
        return self.using(self.db_for_write)

    def update_version(self, versions: Sequence[datetime] | None, **changes: Any) -> M:
        """Update the queryset's only row, and its ``updated_at``, and return the row. Call this in a transaction.

        Without ``changes``, only the version is checked. Raises DoesNotExist, or Modified if the row has another
        version.
        """
        if not changes:
            self.require_version(versions)
        else:
            rows = self if versions is None else self.filter(updated_at__in=versions)
            updated = rows.update(**changes, updated_at=timezone.now())
            if not updated and versions is not None and self.exists():
                raise Modified
        row = self.get()
        announce_update([row], self.db, changes)
        return row

    def delete_version(self, versions: Sequence[datetime] | None) -> None:
        """Delete the queryset's only row. Call this in a transaction. Raises DoesNotExist or Modified."""
        self.require_version(versions)
        if not self.delete()[0]:
            raise self.model.DoesNotExist  # type: ignore[attr-defined]

    def delete(self) -> tuple[int, dict[str, int]]:
        """Delete the rows and announce their deletion, in chunks if there are receivers."""
        if not deleted.has_listeners(self.model):
            return super().delete()
        rows, numbers = self.for_write(), Counter[str]()
        with transaction.atomic(using=rows.db):
            keys = list(rows.order_by("pk").values_list(*key_columns(self.model)))
            for start in range(0, len(keys), MAX_DELETED):
                chunk: models.QuerySet[M] = models.QuerySet(self.model, using=rows.db)
                chunk = chunk.filter(**rows_filter(self.model, keys[start : start + MAX_DELETED]))
                announce(deleted, lock(chunk.order_by("pk")), rows.db)
                numbers.update(chunk.delete()[1])
        return numbers.total(), dict(numbers)

    delete.queryset_only = True  # type: ignore[attr-defined]  # as in Django: managers do not have it

    def require_version(self, versions: Sequence[datetime] | None) -> None:
        """Lock the row and check its version, unless ``versions`` is None. Raises DoesNotExist or Modified."""
        if versions is None:
            return
        if self.select_for_update().values_list("updated_at", flat=True).get() not in versions:
            raise Modified


class WritingModel(models.Model):
    """A model whose writes are announced. Its manager has a WritingQuerySet."""

    distributed_by: ClassVar[str | None] = None
    """The column by which Citus or partitions distribute the rows, or None if each node has all rows."""

    class Meta:
        abstract = True

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        post_save.connect(announce_save, sender=cls)

    def delete(self, using: str | None = None, keep_parents: bool = False) -> tuple[int, dict[str, int]]:
        """Delete the row and announce its deletion."""
        row = copy(self)  # Django sets the primary key of this instance to None.
        result = super().delete(using, keep_parents)
        if result[0]:
            announce(deleted, [row], using or router.db_for_write(type(self), instance=row))
        return result


def retry_on_conflict(
    action: Callable[[], T], using: str, resolve: Callable[[], T | None] = lambda: None, *, atomic: bool = True
) -> T:
    """Run ``action`` in a transaction and return its result. Retry it if it conflicts with another transaction.

    An action that writes with a single statement needs no transaction of its own (``atomic=False``).

    A conflict is a deadlock, a serialization failure or an IntegrityError. There are at most four attempts, and the
    error of the last one is raised. An error that may be the violation of a constraint is raised as an IntegrityError.

    After an IntegrityError, ``resolve`` is called outside the transaction. It may return a result, such as the existing
    row, raise another exception, or return None to retry, since the conflicting row may have been deleted.
    """
    attempts, atomic = 1, atomic or not in_autocommit(connections[using])
    while True:
        try:
            with transaction.atomic(using=using) if atomic else nullcontext():
                return action()
        except (IntegrityError, InternalError) as error:
            if not is_violation(error):
                raise
            if (result := resolve()) is not None:
                return result
            if attempts == ATTEMPTS:
                if isinstance(error, IntegrityError):
                    raise
                raise IntegrityError(*error.args) from error
        except OperationalError as error:
            # The conflict has also rolled back any outer transaction, which only the code that began it can retry.
            if not is_conflict(error) or attempts == ATTEMPTS or connections[using].in_atomic_block:
                raise
        attempts += 1
