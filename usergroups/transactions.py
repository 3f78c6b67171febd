"""Transactions that others get in the way of."""

from collections.abc import Callable
from typing import TypeVar

from django.db import IntegrityError, OperationalError, connections, transaction

T = TypeVar("T")

ATTEMPTS = 4
CONFLICTS = {"40001", "40P01"}  # PostgreSQL's serialization_failure and deadlock_detected


def repeated(action: Callable[[], T], using: str, explain: Callable[[], Exception | None] = lambda: None) -> T:
    """Run ``action`` in a transaction; once more, all of it, if another one was in the way.

    That shows as a deadlock, as a failure to serialize, or as an IntegrityError that ``explain`` has no reason for:
    what was in the way may be gone with the next look. Raises that reason, or what the last attempt raised.
    """
    for _ in range(ATTEMPTS - 1):
        try:
            return _once(action, using, explain)
        except IntegrityError:
            continue
        except OperationalError as error:
            # Inside another transaction there is nothing left to repeat in.
            if not is_conflict(error) or connections[using].in_atomic_block:
                raise
    return _once(action, using, explain)


def _once(action: Callable[[], T], using: str, explain: Callable[[], Exception | None]) -> T:
    try:
        with transaction.atomic(using=using):
            return action()
    except IntegrityError:
        if reason := explain():
            raise reason from None
        raise


def is_conflict(error: OperationalError) -> bool:
    """Whether the transaction could succeed if it were run again."""
    cause = error.__cause__
    return (getattr(cause, "sqlstate", None) or getattr(cause, "pgcode", None)) in CONFLICTS
