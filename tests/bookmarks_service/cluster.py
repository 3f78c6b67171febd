"""A PostgreSQL server of the tests' own, which they may stop, fill and lock."""

import os
import shutil
import socket
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import psycopg


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
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.url = f"postgres://postgres@127.0.0.1:{self.port}/postgres"

    def __enter__(self) -> "Cluster":
        if os.getuid() == 0:  # as which the server refuses to run
            shutil.chown(self.folder, "postgres")
        self.run("initdb", "--auth=trust", "--username=postgres", "--no-sync", "-D", self.folder / "data")
        self.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)
        self.log.unlink()

    def run(self, program: str, *arguments: Any) -> None:
        command = [binaries() / program, *arguments]  # type: ignore[operator]
        user = "postgres" if os.getuid() == 0 else None
        # Not to a pipe: the server would inherit it, and it would never end.
        with self.log.open("ab") as log:
            subprocess.run(command, check=True, stdout=log, stderr=log, cwd="/", user=user)

    def start(self) -> None:
        options = f"-p {self.port} -k {self.folder} -c listen_addresses=127.0.0.1 -c max_connections=20 -c fsync=off"
        self.run("pg_ctl", "-w", "-D", self.folder / "data", "-o", options, "start")

    def stop(self) -> None:
        self.run("pg_ctl", "-w", "-m", "immediate", "-D", self.folder / "data", "stop")

    def connect(self) -> psycopg.Connection[Any]:
        return psycopg.connect(self.url, autocommit=True)

    def execute(self, sql: str) -> None:
        with self.connect() as connection:
            connection.execute(sql)

    def disconnect_all(self) -> None:
        """End every other connection, as an administrator or a failover does."""
        self.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()")
