"""Execute statements that PostgreSQL can prepare, and replace a connection on which they cannot run.

With psycopg 3, PostgreSQL gets the values apart from the statement, and prepares the statement if the connection has a
``prepare_threshold``, which is an option of Django's DATABASES setting. In a transaction, a statement runs as Django
runs its own: a failure would abort the transaction. This module imports no other module of the project.
"""

from collections.abc import Sequence
from typing import Any

from django.db import InterfaceError, NotSupportedError, OperationalError
from django.db.backends.base.base import BaseDatabaseWrapper

Row = Sequence[Any]


def execute(connection: BaseDatabaseWrapper, sql: str, params: Sequence[Any], *, reads: bool) -> list[Row]:
    """Execute a statement and return its rows. ``reads`` says whether it only reads.

    The statement is executed again on a new connection if PostgreSQL refuses its prepared form, because a migration has
    changed the type of a column. A statement that only reads is also repeated if the connection is broken, and replaces
    Django's check of the connection, which would take a statement of its own.
    """
    if not in_autocommit(connection):
        return _fetch(connection.cursor(), sql, params)
    if not reads:
        connection.close_if_health_check_failed()
    try:
        rows = _fetch(_cursor(connection), sql, params)
    except NotSupportedError:
        connection.close()
        rows = _fetch(_cursor(connection), sql, params)
    except (InterfaceError, OperationalError):
        if not reads or connection.connection is None or connection.is_usable():
            raise
        connection.close()
        rows = _fetch(_cursor(connection), sql, params)
    connection.health_check_done = True  # type: ignore[attr-defined]  # The connection works.
    return rows


def in_autocommit(connection: BaseDatabaseWrapper) -> bool:
    """Return whether a statement commits by itself."""
    return not connection.in_atomic_block and connection.get_autocommit()


def _fetch(cursor: Any, sql: str, params: Sequence[Any]) -> list[Row]:
    with cursor:
        cursor.execute(sql, params)
        rows: list[Row] = cursor.fetchall()
        return rows


def _cursor(connection: Any) -> Any:
    """Return a cursor that sends the values apart from the statement, if the driver has one."""
    driver = connection.Database
    if connection.vendor != "postgresql" or not hasattr(driver, "ClientCursor"):  # psycopg 2 has none
        return connection.cursor()
    connection.ensure_connection()
    connection.validate_thread_sharing()
    wrap = connection.make_debug_cursor if connection.queries_logged else connection.make_cursor
    return wrap(driver.Cursor(connection.connection))
