"""Retry transactions that conflict with others."""

from collections.abc import Callable
from typing import TypeVar

from django.db import IntegrityError, OperationalError, connections, transaction

T = TypeVar("T")

ATTEMPTS = 4
CONFLICTS = {"40001", "40P01"}  # PostgreSQL's serialization_failure and deadlock_detected


def retry_on_conflict(action: Callable[[], T], using: str, resolve: Callable[[], T | None] = lambda: None) -> T:
    """Retry a transaction that conflicts with another.

    Run ``action`` in a transaction and return its result. A deadlock, a serialization failure or an IntegrityError
    rolls the transaction back, and it is run again, at most four times in all. After an IntegrityError ``resolve`` is
    called first, outside the transaction. It returns the result that ends the conflict, such as the row that is
    already there; or raises the reason why there can be none; or returns None, since the conflicting row may be gone
    at the next attempt. Raises the error of the last attempt.
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
            # A conflict rolls back an outer transaction as well, which only the code that began it can run again.
            if not is_conflict(error) or attempts == ATTEMPTS or connections[using].in_atomic_block:
                raise
        attempts += 1


def is_conflict(error: OperationalError) -> bool:
    """Return whether the transaction could succeed if it were run again."""
    cause = error.__cause__
    return (getattr(cause, "sqlstate", None) or getattr(cause, "pgcode", None)) in CONFLICTS
