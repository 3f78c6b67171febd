"""A streaming standby of a PostgreSQL server, which tests can hold back, suspend and kill."""

import os
import re
import shutil
import signal
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from tests.bookmarks_service.cluster import Cluster, binaries
from tests.servers import wait_until


def send_to_each(pids: Iterable[int], number: signal.Signals) -> None:
    """Send a signal to processes, of which some may have ended."""
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, number)


class Standby(Cluster):
    settings = ["log_statement=all", "client_connection_check_interval=100ms"]

    def __init__(self, primary: Cluster) -> None:
        super().__init__()
        self.primary = primary

    def creation(self) -> list[Any]:
        program = shutil.which("pg_basebackup") or binaries() / "pg_basebackup"  # Debian has it in another folder
        command = [program, "-h", "127.0.0.1", "-p", str(self.primary.port), "-U", "postgres"]
        return [*command, "-D", self.folder / "data", "--write-recovery-conf", "--checkpoint=fast", "--no-sync"]

    @contextmanager
    def held_back(self) -> Iterator[None]:
        """Replay nothing until the block ends."""
        self.execute("SELECT pg_wal_replay_pause()")
        wait_until(lambda: self.value("SELECT pg_get_wal_replay_pause_state()") == "paused")
        try:
            yield
        finally:
            self.execute("SELECT pg_wal_replay_resume()")

    @contextmanager
    def suspended(self) -> Iterator[None]:
        """Let the server accept connections and not respond until the block ends."""
        pid = self.process.pid
        pids = [pid, *map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())]
        send_to_each(pids, signal.SIGSTOP)
        try:
            yield
        finally:
            send_to_each(pids, signal.SIGCONT)

    def catch_up(self) -> None:
        """Wait until everything is replayed that the primary has written."""
        with self.primary.connect() as primary, self.connect() as standby:
            [position] = primary.execute("SELECT pg_current_wal_insert_lsn()").fetchone()
            replayed = "SELECT pg_last_wal_replay_lsn() >= %s::pg_lsn"
            wait_until(lambda: standby.execute(replayed, [position]).fetchone()[0])

    def value(self, sql: str) -> Any:
        with self.connect() as connection:
            return connection.execute(sql).fetchone()[0]

    def selects(self) -> int:
        """Return how many queries for rows of the apps the server has executed since it was started."""
        return len(re.findall('statement: SELECT .* FROM "(?:bookmarks|usergroups)_', self.log.read_text()))
