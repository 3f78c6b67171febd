"""Find a standby that has replayed everything that the primary has acknowledged."""

import logging
import random
import time
from contextlib import suppress

from django.db import DEFAULT_DB_ALIAS, Error, ProgrammingError, connections

from usergroups.contract.errors import DATABASE_UNAVAILABLE_ERRORS

from .time_limit import TimeLimit

logger = logging.getLogger(__name__)

OUTAGE = 5  # seconds for which a standby is skipped after an error
LAG = 1  # seconds for which a standby is skipped that has not caught up in time
# Seconds to wait for a standby to catch up. With 250 commits a second, a standby on the same machine answered 37% of
# the calls with 0, 90% with 0.003 and nearly all with 0.01.
PATIENCE = 0.01
POLL = 0.001  # seconds
CHECK_LIMIT = 0.5  # seconds for a statement that any server executes at once

# Commits are flushed before they are acknowledged, unless synchronous_commit is off.
POSITION = """
    SELECT CASE current_setting('synchronous_commit')
        WHEN 'off' THEN pg_current_wal_insert_lsn() ELSE pg_current_wal_flush_lsn()
    END::text, system_identifier, current_database()
    FROM pg_control_system() WHERE NOT pg_is_in_recovery()
"""

# A server that is not a standby of the same database returns no row. pg_last_wal_replay_lsn() alone would not tell,
# because it keeps its value after a promotion.
HAS_REPLAYED = """
    SELECT pg_last_wal_replay_lsn() >= %s::pg_lsn
    FROM pg_control_system() WHERE pg_is_in_recovery() AND system_identifier = %s AND current_database() = %s
"""

Position = tuple[str, int, str]


class NotAStandby(Error):
    pass


class Standby:
    """What this process knows about a standby."""

    def __init__(self, alias: str) -> None:
        self.alias = alias
        self.is_available = True
        self.skipped_until = 0.0

    @property
    def is_skipped(self) -> bool:
        return time.monotonic() < self.skipped_until

    def skip(self, seconds: float) -> None:
        self.skipped_until = time.monotonic() + seconds

    def fail(self, reason: object) -> None:
        """Skip the standby for a while, and log why unless that is known."""
        connections[self.alias].close()
        self.skip(OUTAGE)
        if self.is_available:
            self.is_available = False
            logger.warning("The standby %s is not used: %s", self.alias, reason)

    def catch_up(self, position: Position) -> bool:
        """Return whether the standby has replayed the position, or does so while this waits for a moment."""
        if self.skipped_until:
            self.skip(OUTAGE)  # Only one thread at a time tries again.
        try:
            caught_up = self.has_replayed(position)
            end = time.monotonic() + PATIENCE
            while not caught_up and time.monotonic() < end:
                time.sleep(POLL)
                caught_up = self.has_replayed(position)
        except Error as error:
            self.fail(error)
            return False
        self.is_available = True
        self.skipped_until = 0.0 if caught_up else time.monotonic() + LAG
        return caught_up

    def has_replayed(self, position: Position) -> bool:
        """Return whether the standby has replayed the position. Raises Error if it is unavailable or not a standby."""
        connection = connections[self.alias]
        if connection.connection is not None:
            with suppress(*DATABASE_UNAVAILABLE_ERRORS):
                return self._ask(position)
            connection.close()  # The server may have been restarted since the thread last used its connection.
        return self._ask(position)

    def _ask(self, position: Position) -> bool:
        connection = connections[self.alias]
        with connection.execute_wrapper(TimeLimit(CHECK_LIMIT)), connection.cursor() as cursor:
            cursor.execute(HAS_REPLAYED, position)
            row = cursor.fetchone()
        if row is None:
            raise NotAStandby("The server is not a standby of the primary.")
        return bool(row[0])


STANDBYS = [Standby(alias) for alias in connections if alias != DEFAULT_DB_ALIAS]


def primary_position() -> Position | None:
    """Return the position in the primary's log up to which writes may have been acknowledged, and name the database.

    Return None if the server is a standby itself, as it may be during a failover, or if the role may not ask.
    """
    with connections[DEFAULT_DB_ALIAS].cursor() as cursor:
        try:
            cursor.execute(POSITION)
        except ProgrammingError as error:
            for standby in STANDBYS:
                standby.fail(error)
            return None
        position: Position | None = cursor.fetchone()
    return position


def current_standby() -> Standby | None:
    """Return a standby that has replayed everything that the primary has acknowledged by now, or None."""
    candidates = [standby for standby in STANDBYS if not standby.is_skipped]
    if not candidates or (position := primary_position()) is None:
        return None
    random.shuffle(candidates)
    return next((standby for standby in candidates if standby.catch_up(position)), None)


def are_available() -> bool:
    """Return whether all standbys respond, even if they lag behind."""
    if position := primary_position():
        for standby in STANDBYS:
            if not standby.is_skipped:
                standby.catch_up(position)
    return all(standby.is_available for standby in STANDBYS)
