"""Write to the right database, and retry transactions that conflict with others."""

from collections.abc import Callable
from typing import Self, TypeVar

from django.db import IntegrityError, OperationalError, connections, models, router, transaction

T = TypeVar("T")
M = TypeVar("M", bound=models.Model)

ATTEMPTS = 4
CONFLICTS = {"40001", "40P01"}  # PostgreSQL's serialization_failure and deadlock_detected


class WritingQuerySet(models.QuerySet[M]):
    """The base of querysets with methods that write."""

    def for_write(self) -> Self:
        """Use the database for writes, where a project has replicas for reads."""
        return self.using(router.db_for_write(self.model))


def retry_on_conflict(action: Callable[[], T], using: str, resolve: Callable[[], T | None] = lambda: None) -> T:
    """Run ``action`` in a transaction and return its result. Retry it if it conflicts with another transaction.

    A conflict is a deadlock, a serialization failure or an IntegrityError. There are at most four attempts, and the
    error of the last one is raised.

    After an IntegrityError, ``resolve`` is called outside the transaction. It may return a result, such as the existing
    row, raise another exception, or return None to retry, since the conflicting row may have been deleted.
    """
    attempts = 1
    while True:
        try:
            with transaction.atomic(using=using):
                return action()
        except IntegrityError:
            if (result := resolve()) is not None:
                return result
            if attempts == ATTEMPTS:
                raise
        except OperationalError as error:
            # The conflict has also rolled back any outer transaction, which only the code that began it can retry.
            if not is_conflict(error) or attempts == ATTEMPTS or connections[using].in_atomic_block:
                raise
        attempts += 1


def is_conflict(error: OperationalError) -> bool:
    """Return whether the transaction may succeed if it is retried."""
    cause = error.__cause__
    return (getattr(cause, "sqlstate", None) or getattr(cause, "pgcode", None)) in CONFLICTS
