"""A PostgreSQL server that tests can stop, fill and lock."""

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.servers import free_port, start_server, stop_server, wait_until

MAX_CONNECTIONS = 20


def binaries() -> Path | None:
    """Return the folder of the server's programs, where Debian or the PATH has them."""
    on_path = shutil.which("pg_ctl")
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/pg_ctl"))
    if on_path or found:
        return Path(on_path or found[-1]).parent
    return None


needs_postgresql = pytest.mark.skipif(binaries() is None, reason="there is no PostgreSQL server to be started")


class Cluster:
    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.log = self.folder.with_suffix(".log")
        self.port = free_port()
        self.url = f"postgres://postgres@127.0.0.1:{self.port}/postgres"
        # The server refuses to run as root.
        self.options = {"cwd": "/", "user": "postgres" if os.getuid() == 0 else None}

    def __enter__(self) -> "Cluster":
        if os.getuid() == 0:
            shutil.chown(self.folder, "postgres")
        creation = [
            binaries() / "initdb",
            "--auth=trust",
            "--username=postgres",
            "--no-sync",
            "-D",
            self.folder / "data",
        ]
        try:
            subprocess.run(creation, check=True, capture_output=True, **self.options)
            self.start()
        except BaseException:
            self.remove_files()
            raise
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.stop()
        self.remove_files()

    def remove_files(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)
        self.log.unlink(missing_ok=True)

    def start(self) -> None:
        command = [binaries() / "postgres", "-D", self.folder / "data", "-p", str(self.port), "-k", self.folder]
        for setting in ("listen_addresses=127.0.0.1", f"max_connections={MAX_CONNECTIONS}", "fsync=off"):
            command += ["-c", setting]
        self.process = start_server(command, self.log, self.accepts_connections, **self.options)

    def accepts_connections(self) -> bool:
        with suppress(psycopg.OperationalError), self.connect():
            return True
        return False

    def stop(self) -> None:
        """End the server at once, as a crash does."""
        stop_server(self.process, signal.SIGQUIT)

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """Stop the server until the block ends."""
        self.stop()
        try:
            yield
        finally:
            self.start()

    @contextmanager
    def read_only(self) -> Iterator[None]:
        """Let transactions of new connections be read-only by default until the block ends."""
        self.execute("ALTER DATABASE postgres SET default_transaction_read_only = on")
        self.disconnect_all()
        try:
            yield
        finally:
            with self.connect() as connection:
                connection.execute("SET default_transaction_read_only = off")
                connection.execute("ALTER DATABASE postgres RESET default_transaction_read_only")
            self.disconnect_all()

    @contextmanager
    def without_free_connections(self) -> Iterator[None]:
        """Use all connections that the server accepts until the block ends."""
        self.disconnect_all()
        with ExitStack() as stack:
            with suppress(psycopg.OperationalError):
                for _ in range(MAX_CONNECTIONS + 1):
                    stack.enter_context(self.connect())
                raise AssertionError("The server accepted too many connections.")
            yield

    def connect(self) -> psycopg.Connection[Any]:
        return psycopg.connect(self.url, autocommit=True)

    def execute(self, sql: str) -> None:
        with self.connect() as connection:
            connection.execute(sql)

    def disconnect_all(self) -> None:
        """End every other connection, as an administrator or a failover does, and wait until all are gone."""
        others = "FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
        with self.connect() as connection:
            connection.execute(f"SELECT pg_terminate_backend(pid) {others}")
            wait_until(lambda: connection.execute(f"SELECT count(*) {others}").fetchone()[0] == 0)
