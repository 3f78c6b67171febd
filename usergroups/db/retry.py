"""Retry transactions that conflict with others.

Most methods of querysets that write run in ``retry_on_conflict``, and so do the
actions of the admin. Those that callers combine to one transaction, and those
that issue, rotate or revoke tokens, leave it to their callers.
"""

from collections.abc import Callable
from contextvars import ContextVar
from typing import TypeVar

from django.db import (
    Error,
    IntegrityError,
    NotSupportedError,
    OperationalError,
    connections,
    transaction,
)
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import ProtectedError, RestrictedError

T = TypeVar("T")


ATTEMPTS = 4


class ConflictingWrite(IntegrityError):
    """Another transaction deleted a row that was in the way of an insert,
    before it could be read, or inserted one after it was not found.

    An action of ``retry_on_conflict`` raises it to be run again.
    """


CONFLICTS = {"40001", "40P01", "0A000"}
"""The SQLSTATEs serialization_failure, deadlock_detected and
feature_not_supported.

With the last one, PostgreSQL refuses to run a statement that was prepared
before a migration changed the type of a column.
"""


def in_autocommit(connection: BaseDatabaseWrapper) -> bool:
    """Return whether each statement commits by itself, because no transaction
    is open.
    """
    return not connection.in_atomic_block and connection.get_autocommit()


def sqlstate_of(error: Error) -> str | None:
    """Return PostgreSQL's code of a database error, or None."""
    cause = error.__cause__
    return getattr(cause, "sqlstate", None) or getattr(cause, "pgcode", None)


in_retried_action = ContextVar("in_retried_action", default=False)
"""Whether the code runs in the action of ``retry_on_conflict``, which will run
the whole action again after a conflict.
"""


def retry_on_conflict(
    action: Callable[[], T],
    using: str,
    resolve: Callable[[], T | None] = lambda: None,
    *,
    atomic: bool = True,
) -> T:
    """Run ``action`` in a transaction and return its result.

    Retry it if it conflicts with another transaction. An action within an
    action is not retried by itself, but with the outer one.

    An action that writes with a single statement needs no transaction of its
    own (``atomic=False``).

    A conflict is an IntegrityError, except for one of PROTECT or RESTRICT, or
    an error of the CONFLICTS.
    There are at most four attempts, and the error of the last one is raised.
    After an IntegrityError, ``resolve`` is called outside the transaction. It
    returns the result, raises a clearer exception, or returns None if it finds
    no reason, since the conflicting row may have been deleted.
    """
    attempts_left = ATTEMPTS
    if in_retried_action.get():
        attempts_left = 1
    # A single statement needs atomic() only in an outer transaction, where it
    # sets a savepoint: without one, PostgreSQL would refuse all statements after
    # an IntegrityError.
    needs_atomic = atomic or not in_autocommit(connections[using])
    while True:
        attempts_left -= 1
        try:
            if not needs_atomic:
                return _run(action)
            with transaction.atomic(using):
                return _run(action)
        except (ProtectedError, RestrictedError):
            # These are IntegrityErrors, but no conflicts.
            raise
        except IntegrityError:
            resolved = resolve()
            if resolved is not None:
                return resolved
            if not attempts_left:
                raise
        # PostgreSQL reports an outdated prepared statement as not supported.
        except (OperationalError, NotSupportedError) as error:
            is_conflict = sqlstate_of(error) in CONFLICTS
            # The conflict has also rolled back any outer transaction, which
            # only the code that began it can retry.
            in_transaction = connections[using].in_atomic_block
            if not is_conflict or in_transaction or not attempts_left:
                raise


def _run(action: Callable[[], T]) -> T:
    """Run an action. Calls of ``retry_on_conflict`` in it make one attempt.

    Calls in receivers of the signals that the commit sends make four, because
    they run after the action.
    """
    outer = in_retried_action.set(True)
    try:
        return action()
    finally:
        in_retried_action.reset(outer)
