"""What the server sets on its connections to PostgreSQL: time limits, prepared statements, and how times are read."""

from typing import Any

from django.db import Error
from django.db.backends.base.base import BaseDatabaseWrapper

SET_LIMITS = """
SELECT set_config(name, value, false)
FROM pg_settings
JOIN (VALUES ('statement_timeout', '30s'), ('lock_timeout', '10s')) AS limits (name, value) USING (name)
WHERE source = 'default'
"""
"""Sets the limits that nothing has set. With them, a slow or locked database leads to a 503 response."""


def set_up(connection: BaseDatabaseWrapper, **kwargs: Any) -> None:
    """Set time limits on a new connection to PostgreSQL where neither the database, the role nor PGOPTIONS has any.

    Also let the connection prepare the statements of ``usergroups.compiled_statements``, and load times by psycopg's
    own loader. With Django's, which replaces the time zone of each, reading a list of 50 bookmarks takes 14% longer.

    A pooler such as PgBouncer would keep the values on its own connections, which it shares among its clients, and only
    newer versions of it know prepared statements. Behind a pooler, this sets only how times are loaded. A startup
    parameter would not work either: PgBouncer refuses it.
    """
    if connection.vendor != "postgresql":
        return
    raw: Any = connection.connection  # Django does not log or count the queries of the raw connection.
    from psycopg.types.datetime import TimestamptzLoader  # noqa: PLC0415  # SQLite does not need the package

    # Django compares the attribute of its own loader with the time zone of the connection.
    loader = type("Loader", (TimestamptzLoader,), {"timezone": connection.timezone})
    raw.adapters.register_loader("timestamptz", loader)
    try:
        with connection.wrap_database_errors:
            # A pooler gives its client a number of its own, because it uses several processes of the server.
            if raw.execute("SELECT pg_backend_pid()").fetchone() == (raw.info.backend_pid,):
                raw.execute(SET_LIMITS)
                raw.prepare_threshold = 0
    except Error:
        connection.close()  # Django would keep it, without limits.
        raise
