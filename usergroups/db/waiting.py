"""Commit without waiting for the disk, where a write may be lost.

The last use of a token is saved in this way. Its statement also skips a row
that is locked, which is not done here.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from traceback import clear_frames

from django.db import Error, connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper

from .retry import in_autocommit

MAX_WAIT = 100
"""How many milliseconds a transaction waits for another writer on SQLite."""


@contextmanager
def atomic_without_waiting(using: str) -> Iterator[None]:
    """Run the block in a transaction on the database ``using`` whose write may
    be lost.

    On PostgreSQL, its commit waits neither for the disk nor for a standby
    server. On SQLite, it waits for another writer for at most MAX_WAIT, and
    then raises OperationalError.

    In an outer transaction, the block is a savepoint. The locks and the commit
    are then those of the outer transaction, and wait as usual.
    """
    connection = connections[using]
    is_outermost = in_autocommit(connection)
    if is_outermost and connection.vendor == "sqlite":
        with _short_wait_for_writer(connection), transaction.atomic(using):
            yield
        return
    with transaction.atomic(using):
        if is_outermost and connection.vendor == "postgresql":
            with connection.cursor() as cursor:
                cursor.execute("SET LOCAL synchronous_commit = off")
        yield


@contextmanager
def _short_wait_for_writer(connection: BaseDatabaseWrapper) -> Iterator[None]:
    """Wait for a writer of SQLite for at most MAX_WAIT in the block."""
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA busy_timeout")
        [usual_wait] = cursor.fetchone()
        cursor.execute(f"PRAGMA busy_timeout = {MAX_WAIT}")
        try:
            yield
        except Error as error:
            # Django's error is in a reference cycle with the cursor. If the
            # garbage collector closed that while another thread has the write
            # lock, that thread would wait for this connection, which may wait
            # for the lock: 20 seconds.
            clear_frames(error.__traceback__)
            raise
        finally:
            cursor.execute(f"PRAGMA busy_timeout = {usual_wait}")
