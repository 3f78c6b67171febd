import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

TRANSACTION_CONTROL = ("BEGIN", "COMMIT", "ROLLBACK", "SAVEPOINT", "RELEASE")


def queries_of(call: Callable[..., Any], *args: Any) -> list[str]:
    """Return the SQL of each statement that ``call`` makes, besides transaction control."""
    with CaptureQueriesContext(connection) as captured:
        call(*args)
    return [query["sql"] for query in captured if not query["sql"].startswith(TRANSACTION_CONTROL)]


@contextmanager
def meanwhile(before: str, *statements: str) -> Iterator[None]:
    """Have somebody else run and commit these right before the first statement that begins with ``before``."""
    if connection.vendor == "sqlite":
        pytest.skip("a database in memory has one connection")
    done: list[str] = []

    def elsewhere() -> None:
        with connection.cursor() as cursor:  # a thread has a connection of its own
            for statement in statements:
                cursor.execute(statement)
        connection.close()

    def wrapper(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if sql.startswith(before) and not done:
            done.append(sql)
            thread = threading.Thread(target=elsewhere)
            thread.start()
            thread.join()
        return execute(sql, params, many, context)

    with connection.execute_wrapper(wrapper):
        yield
    assert done


@contextmanager
def locked_elsewhere(statement: str) -> Iterator[None]:
    """Have another connection hold the locks of this statement."""
    locked, done = threading.Event(), threading.Event()

    def hold() -> None:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(statement)
            locked.set()
            done.wait(timeout=60)
        connection.close()

    thread = threading.Thread(target=hold)
    thread.start()
    try:
        assert locked.wait(timeout=60)
        yield
    finally:
        done.set()
        thread.join()
