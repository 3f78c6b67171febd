"""Retry transactions that conflict with others."""

from collections.abc import Callable
from contextlib import nullcontext
from typing import TypeVar

from django.db import (
    Error,
    IntegrityError,
    OperationalError,
    connections,
    transaction,
)
from django.db.backends.base.base import BaseDatabaseWrapper

T = TypeVar("T")


ATTEMPTS = 4


# the SQLSTATEs serialization_failure and deadlock_detected
CONFLICTS = {"40001", "40P01"}


def in_autocommit(connection: BaseDatabaseWrapper) -> bool:
    """Return whether each statement commits by itself, because no transaction
    is open.
    """
    return not connection.in_atomic_block and connection.get_autocommit()


def sqlstate_of(error: Error) -> str | None:
    """Return PostgreSQL's code of a database error, or None."""
    cause = error.__cause__
    return getattr(cause, "sqlstate", None) or getattr(cause, "pgcode", None)


def retry_on_conflict(
    action: Callable[[], T],
    using: str,
    explain: Callable[[], None] = lambda: None,
    *,
    atomic: bool = True,
) -> T:
    """Run ``action`` in a transaction and return its result.

    Retry it if it conflicts with another transaction.

    An action that writes with a single statement needs no transaction of its
    own (``atomic=False``).

    A conflict is a deadlock, a serialization failure or an IntegrityError.
    There are at most four attempts, and the error of the last one is raised.
    After an IntegrityError, ``explain`` is called outside the transaction. It
    raises a clearer exception, or returns if it finds no reason, since the
    conflicting row may have been deleted.
    """
    # An outer transaction needs a savepoint.
    attempts, atomic = 1, atomic or not in_autocommit(connections[using])
    while True:
        try:
            with transaction.atomic(using=using) if atomic else nullcontext():
                return action()
        except IntegrityError:
            explain()
            if attempts == ATTEMPTS:
                raise
        except OperationalError as error:
            # The conflict has also rolled back any outer transaction, which
            # only the code that began it can retry.
            if (
                sqlstate_of(error) not in CONFLICTS
                or attempts == ATTEMPTS
                or connections[using].in_atomic_block
            ):
                raise
        attempts += 1
