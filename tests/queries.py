import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import connection, models
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
def row_locked(row: models.Model) -> Iterator[None]:
    """Have another connection hold the lock on a committed row."""
    other = connection.copy()
    try:
        other.set_autocommit(False)
        with other.cursor() as cursor:
            table, column = map(other.ops.quote_name, (row._meta.db_table, row._meta.pk.column))
            cursor.execute(f"SELECT 1 FROM {table} WHERE {column} = %s FOR UPDATE", [row.pk])
            yield
    finally:
        other.close()
