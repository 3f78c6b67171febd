import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from typing import Any

import pytest
from django.apps import apps
from django.contrib.contenttypes.models import ContentType
from django.db import connection, models, transaction
from django.test.utils import CaptureQueriesContext

from tests.servers import TIMEOUT, wait_until

TRANSACTION_CONTROL = ("BEGIN", "COMMIT", "ROLLBACK", "SAVEPOINT", "RELEASE")


def warm_up() -> None:
    """Read all content types, which Django keeps until a test flushes the
    database, and whether the database supports JSON.

    Otherwise, the number of queries would depend on the tests that ran before
    in this process.
    """
    ContentType.objects.get_for_models(*apps.get_models())
    assert connection.features.supports_json_field


def queries_of(call: Callable[..., Any], *args: Any) -> list[str]:
    """Return the SQL of each statement that ``call`` executes, without
    transaction control.
    """
    warm_up()
    with CaptureQueriesContext(connection) as captured:
        call(*args)
    return [
        query["sql"]
        for query in captured
        if not query["sql"].startswith(TRANSACTION_CONTROL)
    ]


def plan_nodes(sql: str, options: str = "FORMAT JSON") -> list[dict[str, Any]]:
    """Return all nodes of PostgreSQL's plan for a statement.

    ``options`` are those of EXPLAIN.
    """

    def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
        yield plan
        for child in plan.get("Plans", []):
            yield from nodes(child)

    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN ({options}) {sql}")
        [([plan],)] = cursor.fetchall()  # psycopg parses the JSON
    return list(nodes(plan["Plan"]))


@contextmanager
def concurrently(before: str, *changes: str | Callable[[], Any]) -> Iterator[None]:
    """Run and commit statements, or call functions that write, on another
    connection before the first statement that begins with ``before``.
    """
    if connection.vendor == "sqlite":
        pytest.skip("A database in memory has only one connection.")
    done: list[str] = []

    def execute_all() -> None:
        with connection.cursor() as cursor:
            for change in changes:
                if callable(change):
                    change()
                else:
                    cursor.execute(change)

    def wrapper(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if sql.startswith(before) and not done:
            done.append(sql)
            on_another_connection(execute_all)
        return execute(sql, params, many, context)

    with connection.execute_wrapper(wrapper):
        yield
    assert done


def on_another_connection(action: Callable[[], Any]) -> None:
    """Run ``action`` on another connection.

    On SQLite, whose test database has only one connection, use that one.

    Raises what ``action`` raises.
    """
    if connection.vendor == "sqlite":
        action()
        return

    def act() -> None:
        with closing(connection):  # a thread has a connection of its own
            action()

    with ThreadPoolExecutor(1) as pool:
        pool.submit(act).result()


@contextmanager
def row_locked(row: models.Model) -> Iterator[None]:
    """Have another connection hold the lock on a committed row."""
    other = connection.copy()
    try:
        other.set_autocommit(False)
        with other.cursor() as cursor:
            cursor.execute(
                f'SELECT 1 FROM "{row._meta.db_table}" WHERE id = %s FOR UPDATE',
                [row.pk],
            )
            yield
    finally:
        other.close()


@contextmanager
def committed_after_wait(change: Callable[[], Any]) -> Iterator[None]:
    """Call ``change`` in a transaction of another connection, which commits as
    soon as a statement of this one waits for its locks.
    """
    if connection.vendor != "postgresql":
        pytest.skip("SQLite has one writer at a time, so that no row is locked.")
    is_changed = threading.Event()

    def run_other_transaction() -> None:
        # a thread has a connection of its own
        with closing(connection), transaction.atomic():
            change()
            is_changed.set()
            wait_for_blocked_connection()

    with ThreadPoolExecutor(1) as pool:
        other = pool.submit(run_other_transaction)
        assert is_changed.wait(TIMEOUT)
        yield
        other.result()


@contextmanager
def deadlock(
    statement: str,
    locked: models.QuerySet[Any],
    wait: Callable[[str], Any],
    ending: str = "",
) -> Iterator[list[str]]:
    """Make the first statement that begins with ``statement`` and ends with
    ``ending`` the victim of a deadlock.

    Another transaction locks the rows of ``locked``. When the statement waits
    for them, the other transaction calls ``wait`` with the alias of its
    connection, to wait in turn for the transaction of the statement.
    PostgreSQL cancels the statement, and the other transaction is rolled back.
    Yields the list of all such statements, including retries.
    """
    if connection.vendor != "postgresql":
        pytest.skip("SQLite has one writer at a time, so that there is no deadlock")
    statements: list[str] = []
    is_locked = threading.Event()

    def run_other_transaction() -> None:
        # a thread has a connection of its own
        with closing(connection), suppress(RollBack), transaction.atomic():
            with connection.cursor() as cursor:
                # PostgreSQL cancels the transaction that detects the deadlock.
                # Keep this one from detecting it.
                cursor.execute("SET LOCAL deadlock_timeout = '600s'")
            list(locked.all())
            is_locked.set()
            wait_for_blocked_connection()
            wait(connection.alias)
            raise RollBack

    def wrapper(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if sql.startswith(statement) and sql.endswith(ending):
            if statements:
                # so that a retry does not deadlock with the other transaction
                # again
                thread.join(timeout=TIMEOUT)
            statements.append(sql)
        return execute(sql, params, many, context)

    thread = threading.Thread(target=run_other_transaction)
    thread.start()
    assert is_locked.wait(TIMEOUT)
    with connection.execute_wrapper(wrapper):
        yield statements
    thread.join(timeout=TIMEOUT)


class RollBack(Exception):
    pass


def wait_for_blocked_connection() -> None:
    """Wait until another connection to this database waits for a lock."""
    sql = (
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND "
        "wait_event_type = 'Lock'"
    )
    with closing(connection.copy()) as other, other.cursor() as cursor:

        def is_waiting() -> bool:
            cursor.execute(sql)
            return bool(cursor.fetchone()[0])

        wait_until(is_waiting)
