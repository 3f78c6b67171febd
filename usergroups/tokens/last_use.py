"""Write when a token was last used without making a request wait for it."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from django.core.cache.backends.locmem import LocMemCache
from django.db import Error, connections, router, transaction
from django.db.models import Q
from django.utils import timezone

if TYPE_CHECKING:
    from .models import Token

logger = logging.getLogger(__name__)

PRECISION = timedelta(minutes=1)

attempts = LocMemCache("usergroups.last_use", {"timeout": PRECISION.total_seconds(), "max_entries": 10_000})
"""The digests of tokens whose last use is being written, or could not be written within the last minute.

This is a cache of the process itself, whatever the project's CACHES say: it is bounded, entries expire, and ``add()``
lets only one of several threads try.
"""


def write(token: "Token") -> None:
    """Write that the token is being used, at most once a minute.

    The write never waits for another transaction. If it fails, the failure is logged and not raised, and this process
    does not try again for a minute.
    """
    now = timezone.now()
    stale = now - PRECISION
    if token.last_used_at is not None and token.last_used_at > stale:
        return
    key = bytes(token.digest).hex()
    if not attempts.add(key, None):
        return
    tokens = type(token)._default_manager.using(router.db_for_write(type(token), instance=token))
    unused = tokens.filter(Q(last_used_at=None) | Q(last_used_at__lte=stale), pk=token.pk)
    # On PostgreSQL: if another transaction has locked the row, update nothing. SQLite has no row locks and ignores it.
    unlocked = unused.select_for_update(skip_locked=True, no_key=True)
    try:
        with without_busy_timeout(tokens.db), transaction.atomic(using=tokens.db):
            written = tokens.filter(pk__in=unlocked.values("pk")).update(last_used_at=now)
    except Error:
        logger.warning("Could not write the last use of the token %s", token.hint, exc_info=True)
    else:
        if written:
            attempts.delete(key)


@contextmanager
def without_busy_timeout(using: str) -> Iterator[None]:
    """On SQLite, fail at once if another connection holds the write lock, which BEGIN IMMEDIATE waits for, too."""
    connection = connections[using]
    if connection.vendor != "sqlite":
        yield
        return
    connection.ensure_connection()
    raw: Any = connection.connection  # its statements are not counted among the request's queries
    with connection.wrap_database_errors:
        [(timeout,)] = raw.execute("PRAGMA busy_timeout").fetchall()
        raw.execute("PRAGMA busy_timeout = 0")
    try:
        yield
    finally:
        with connection.wrap_database_errors:
            raw.execute(f"PRAGMA busy_timeout = {timeout}")
