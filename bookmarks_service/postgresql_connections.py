"""What the server sets on its connections to PostgreSQL: time limits of statements, and prepared statements."""

import functools
import logging
from typing import Any

from django.db import Error
from django.db.backends.base.base import BaseDatabaseWrapper

logger = logging.getLogger(__name__)

LIMITS = {"statement_timeout": "30s", "lock_timeout": "10s"}
"""With these limits, a slow or locked database leads to a 503 response."""

STATE = """
SELECT pg_backend_pid(), ARRAY(
    SELECT name::text FROM pg_settings
    WHERE name IN ('statement_timeout', 'lock_timeout') AND source = 'default'
    ORDER BY name
)
"""
"""Selects the server's process, and the limits that nothing has set. The value 0, for no limit, is respected."""


def set_up(connection: BaseDatabaseWrapper, **kwargs: Any) -> None:
    """Set LIMITS on a new connection to PostgreSQL where neither the database, the role nor PGOPTIONS has set them.

    Also let the connection prepare the statements of ``usergroups.compiled_statements``.

    A pooler such as PgBouncer would keep the values on its own connections, which it shares among its clients, and only
    newer versions of it know prepared statements. Behind a pooler, this changes nothing, and logs a warning if a limit
    is missing. A startup parameter would not work either: PgBouncer refuses it.
    """
    if connection.vendor != "postgresql":
        return
    raw: Any = connection.connection  # Django does not log or count the queries of the raw connection.
    try:
        with connection.wrap_database_errors:
            [(process, missing)] = raw.execute(STATE).fetchall()
            # A pooler gives its client a number of its own, because it uses several processes of the server.
            if process != raw.info.backend_pid:
                for name in missing:
                    warn_about_missing_limit(name)
                return
            raw.prepare_threshold = 0
            for name in missing:
                raw.execute("SELECT set_config(%s, %s, false)", [name, LIMITS[name]])
    except Error:
        connection.close()  # Django would keep it, without limits.
        raise


@functools.cache
def warn_about_missing_limit(name: str) -> None:
    """Log a warning, once in each process."""
    logger.warning(
        "The role of DATABASE_URL has no %s, and the connection goes through a pooler. Set it with ALTER ROLE: see "
        '"Behind PgBouncer" in docs/scaling.md.',
        name,
    )
