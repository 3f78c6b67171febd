"""A PostgreSQL server that tests can stop, fill and lock."""

import os
import shutil
import signal
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import psycopg

from tests.servers import free_port, start_server, stop_server


def binaries() -> Path | None:
    """Return the folder of the server's programs, where Debian or the PATH has them."""
    on_path = shutil.which("pg_ctl")
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/pg_ctl"))
    if on_path or found:
        return Path(on_path or found[-1]).parent
    return None


class Cluster:
    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder or Path(tempfile.mkdtemp())
        self.log = self.folder.with_suffix(".log")
        self.port = free_port()
        self.url = f"postgres://postgres@127.0.0.1:{self.port}/postgres"
        # The server refuses to run as root.
        self.options = {"cwd": "/", "user": "postgres" if os.getuid() == 0 else None}

    def __enter__(self) -> "Cluster":
        if os.getuid() == 0:
            shutil.chown(self.folder, "postgres")
        initdb = [binaries() / "initdb", "--auth=trust", "--username=postgres", "--no-sync", "-D", self.folder / "data"]
        try:
            subprocess.run(initdb, check=True, capture_output=True, **self.options)
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
        settings = ["listen_addresses=127.0.0.1", "max_connections=20", "fsync=off"]
        command = [binaries() / "postgres", "-D", self.folder / "data", "-p", str(self.port), "-k", self.folder]
        for setting in settings:
            command += ["-c", setting]
        self.process = start_server(command, self.log, self.accepts_connections, **self.options)

    def accepts_connections(self) -> bool:
        with suppress(psycopg.OperationalError), self.connect():
            return True
        return False

    def stop(self) -> None:
        """End the server at once, as a crash does."""
        stop_server(self.process, signal.SIGQUIT)

    def connect(self) -> psycopg.Connection[Any]:
        return psycopg.connect(self.url, autocommit=True)

    def execute(self, sql: str) -> None:
        with self.connect() as connection:
            connection.execute(sql)

    def disconnect_all(self) -> None:
        """End every other connection, as an administrator or a failover does."""
        self.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()")
