"""Save when a token was last used, without making the request wait for a lock."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from django.core.cache.backends.locmem import LocMemCache
from django.db import Error, connections, router, transaction
from django.db.models import Q

from usergroups.contract.tracebacks import release_cursors

if TYPE_CHECKING:
    from .models import Token

logger = logging.getLogger(__name__)

PRECISION = timedelta(minutes=1)

attempts = LocMemCache("usergroups.last_use", {"timeout": PRECISION.total_seconds(), "max_entries": 10_000})
"""The digests of tokens whose last use is being saved, or could not be saved within the last minute.

Each process has its own cache, whatever the project's CACHES setting says. Its size is bounded, its entries expire, and
``add()`` lets only one of several threads proceed.
"""


def write(token: "Token", now: datetime) -> None:
    """Save that the token is used now, unless a use within the last minute has been saved.

    This never waits for another transaction. An error is logged and not raised, and this process does not try again
    for a minute.
    """
    stale = now - PRECISION
    key = bytes(token.digest).hex()
    if not attempts.add(key, None):
        return
    tokens = type(token).objects.using(router.db_for_write(type(token), instance=token))
    unused = tokens.filter(Q(last_used_at=None) | Q(last_used_at__lte=stale), pk=token.pk)
    # On PostgreSQL, skip the row if another transaction has locked it. SQLite has no row locks and ignores this.
    unlocked = unused.select_for_update(skip_locked=True, no_key=True)
    try:
        with without_busy_timeout(tokens.db), transaction.atomic(using=tokens.db):
            written = tokens.filter(pk__in=unlocked.values("pk")).update(last_used_at=now)
    except Error as error:
        logger.warning("Could not write the last use of the token %s", token.hint, exc_info=True)
        release_cursors(error)
    else:
        if written:
            attempts.delete(key)


@contextmanager
def without_busy_timeout(using: str) -> Iterator[None]:
    """On SQLite, fail at once if another connection holds the write lock, instead of waiting for the lock."""
    connection = connections[using]
    if connection.vendor != "sqlite":
        yield
        return
    connection.ensure_connection()
    raw: Any = connection.connection  # Django does not log the queries of the raw connection
    with connection.wrap_database_errors:
        [(timeout,)] = raw.execute("PRAGMA busy_timeout").fetchall()
        raw.execute("PRAGMA busy_timeout = 0")
    try:
        yield
    finally:
        with connection.wrap_database_errors:
            raw.execute(f"PRAGMA busy_timeout = {timeout}")
