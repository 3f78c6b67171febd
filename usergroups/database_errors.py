"""What an error of the database means, by its SQLSTATE on PostgreSQL. It imports no other module of the project."""

from django.db import DatabaseError, IntegrityError

CONFLICTS = {"40001", "40P01"}  # PostgreSQL's serialization_failure and deadlock_detected
INTERNAL_ERROR = "XX000"
"""Citus raises this error of PostgreSQL if a worker refuses COPY or COMMIT, whatever the worker's reason is."""


def is_conflict(error: DatabaseError) -> bool:
    """Return whether the transaction may succeed if it is retried."""
    return _sqlstate(error) in CONFLICTS


def is_violation(error: DatabaseError) -> bool:
    """Return whether the error is, or on Citus may be, the violation of a constraint."""
    return isinstance(error, IntegrityError) or _sqlstate(error) == INTERNAL_ERROR


def _sqlstate(error: DatabaseError) -> str | None:
    cause = error.__cause__
    return getattr(cause, "sqlstate", None) or getattr(cause, "pgcode", None)
