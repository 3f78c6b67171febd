"""What the server sets on its connections to PostgreSQL: time limits, prepared
statements, and how times are read.
"""

import select
from collections.abc import Callable
from functools import partial
from typing import Any
from weakref import WeakSet

from django.db import Error, NotSupportedError
from django.db.backends.base.base import BaseDatabaseWrapper

SET_LIMITS = """
SELECT set_config(name, value, false)
FROM pg_settings
JOIN (
    VALUES ('statement_timeout', '30s'), ('lock_timeout', '10s')
) AS limits (name, value) USING (name)
WHERE source = 'default'
"""
"""Sets each limit that is not set elsewhere.

With them, a slow or locked database leads to a 503 response.
"""


PREPARE_THRESHOLD = 5
"""How often a statement runs before it is prepared, as is psycopg's default."""


CONNECTIONS_SET_UP: WeakSet[Any] = WeakSet()
"""The connections of psycopg that ``set_up`` has set up.

Each call takes one of them from the pool.
"""


def repeat_outdated(
    execute: Callable[..., object],
    sql: str,
    params: object,
    many: bool,
    context: dict[str, Any],
) -> object:
    """Run a statement again that PostgreSQL refuses because it was prepared
    before a migration changed the type of a column.

    In a transaction, the error has aborted the transaction, which
    ``retry_on_conflict`` repeats.
    """
    try:
        return execute(sql, params, many, context)
    except NotSupportedError:
        if context["connection"].in_atomic_block:
            raise
        # psycopg forgets its prepared statements, too.
        execute("DEALLOCATE ALL", None, False, context)
        return execute(sql, params, many, context)


def has_received(raw: Any) -> bool:
    """Return whether the server has sent something on a connection of psycopg
    that executes nothing, or has closed it.

    This takes no round trip, as a query would for each call.
    """
    poll = select.poll()
    poll.register(raw, select.POLLIN)
    return bool(poll.poll(0))


def replace_broken(connection: Any) -> None:
    """Replace the broken connections in the pool, and take one of them.

    The check of the pool itself would replace one after another, and would wait
    longer each time: ten seconds are not enough for eight.
    """
    connection.close()
    connection.pool.check()
    connection.connect()


def set_up(connection: BaseDatabaseWrapper, **kwargs: object) -> None:
    """Set time limits on a new connection to PostgreSQL where neither the
    database, the role nor PGOPTIONS has any.

    Also let the connection prepare its statements, and load times in C. With
    a loader in Python, such as Django's, a list of 50 bookmarks takes 9% more
    CPU time.

    Behind a pooler such as PgBouncer, set only how times are loaded. It would
    keep the limits on connections that its clients share, it refuses them as
    startup parameters, and only newer versions know prepared statements.
    """
    if connection.vendor != "postgresql":
        return
    if repeat_outdated not in connection.execute_wrappers:
        connection.execute_wrappers.append(repeat_outdated)
    pooled: Any = connection
    # Django does not log or count the queries of the raw connection.
    raw = connection.connection
    # A connection in the pool may break before its first use, too.
    if pooled.pool and has_received(raw) and not connection.is_usable():
        # It connects again, which sets up the new connection.
        replace_broken(connection)
        return
    if raw in CONNECTIONS_SET_UP:
        return
    # SQLite does not need the package
    import psycopg  # noqa: PLC0415

    timestamptz = psycopg.adapters.types["timestamptz"].oid
    text = psycopg.pq.Format.TEXT
    loader_in_c: Any = psycopg.adapters.get_loader(timestamptz, text)
    # The class in C takes no attributes and has no subclasses.
    loader: Any = partial(loader_in_c)
    loader.format = loader_in_c.format
    # Django keeps the loader if this attribute is the time zone of the
    # connection.
    loader.timezone = connection.timezone
    raw.adapters.register_loader(timestamptz, loader)
    try:
        with connection.wrap_database_errors:
            # Behind a pooler, these ids differ: it uses several server
            # processes, and gives its client another id.
            (pid,) = raw.execute("SELECT pg_backend_pid()").fetchone()
            if pid == raw.info.backend_pid:
                raw.execute(SET_LIMITS)
                raw.prepare_threshold = PREPARE_THRESHOLD
    except Error:
        connection.close()  # Django would keep it, without limits.
        raise
    CONNECTIONS_SET_UP.add(raw)
