"""PostgreSQL, as a server that tests can stop and configure, and PgBouncer
with docs/examples/pgbouncer.ini.

``python -m tests.bookmarks_service.postgresql COMMAND`` runs a command with a
server, whose URL is in DATABASE_URL and CI_DATABASE_URL.
"""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg

from tests.documents import ROOT
from tests.programs import find, needs
from tests.servers import free_port, listens, start_server, stop_server, wait_until

needs_postgresql = needs("postgres")
needs_pgbouncer = needs("pgbouncer")

POOL_SIZE = 4
PASSWORD = "not-a-secret"

IS_ROOT = os.getuid() == 0
UNPRIVILEGED = {"cwd": "/", "user": "postgres" if IS_ROOT else None}
"""The options of Popen for a program of PostgreSQL or PgBouncer, which both
refuse to run as root.
"""


class Daemon:
    """A server with files in a temporary folder, which is removed when the
    block ends, however it ends.
    """

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.port = free_port()

    def __enter__(self) -> Any:
        with ExitStack() as stack:
            stack.callback(shutil.rmtree, self.folder, ignore_errors=True)
            self.start()
            stack.callback(self.stop)
            self.cleanup = stack.pop_all()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.cleanup.close()

    def give_away_files(self) -> None:
        """Let the user that runs the server own the folder and its files."""
        for path in (self.folder, *self.folder.iterdir()):
            if IS_ROOT:
                shutil.chown(path, "postgres")


class Cluster(Daemon):
    """A PostgreSQL server."""

    def __init__(self) -> None:
        super().__init__()
        self.url = self.url_of("postgres")

    def url_of(self, database: str) -> str:
        return f"postgres://postgres@127.0.0.1:{self.port}/{database}"

    def start(self) -> None:
        self.give_away_files()
        data = self.folder / "data"
        if not data.exists():
            options = ["--auth=trust", "--username=postgres", "--encoding=UTF8"]
            creation = [find("initdb"), *options, "--no-sync", "-D", data]
            subprocess.run(creation, check=True, capture_output=True, **UNPRIVILEGED)
        settings = ["-c", "listen_addresses=127.0.0.1", "-c", "fsync=off"]
        files = ["-D", data, "-k", self.folder]
        command = [find("postgres"), *files, "-p", str(self.port), *settings]
        self.process = start_server(
            command, self.folder / "log", self.accepts_connections, **UNPRIVILEGED
        )

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
    def setting(self, name: str, value: str) -> Iterator[None]:
        """Change a setting for all connections until the block ends."""
        self.execute(f"ALTER DATABASE postgres SET {name} = '{value}'")
        self.disconnect_all()
        try:
            yield
        finally:
            with self.connect() as connection:
                # because the changed setting may be this one, which would
                # forbid the reset
                connection.execute("SET default_transaction_read_only = off")
                connection.execute(f"ALTER DATABASE postgres RESET {name}")
            self.disconnect_all()

    def connect(self) -> psycopg.Connection[Any]:
        return psycopg.connect(self.url, autocommit=True)

    def execute(self, sql: str) -> None:
        with self.connect() as connection:
            connection.execute(sql)

    def disconnect_all(self) -> None:
        """End every other connection, as an administrator or a failover does,
        and wait until all are gone.
        """
        others = (
            "FROM pg_stat_activity WHERE backend_type = 'client backend' "
            "AND pid <> pg_backend_pid()"
        )
        with self.connect() as connection:
            connection.execute(f"SELECT pg_terminate_backend(pid) {others}")

            def are_gone() -> bool:
                return not connection.execute(f"SELECT {others}").fetchall()

            wait_until(are_gone)


class Pooler(Daemon):
    """PgBouncer in front of a PostgreSQL server.

    Clients connect to ``url`` in place of ``database_url``.

    In the documented configuration, the addresses, the files and the size of
    the pool are replaced.
    """

    def __init__(self, database_url: str) -> None:
        super().__init__()
        database = urlsplit(database_url)
        self.url = f"postgres://{database.username}:{PASSWORD}@127.0.0.1:{self.port}{database.path}"
        replaced = {
            "bookmarks = host=127.0.0.1 port=5432": (
                f"* = host={database.hostname} port={database.port or 5432}"
            ),
            "listen_addr = localhost": "listen_addr = 127.0.0.1",
            "listen_port = 6432": f"listen_port = {self.port}",
            "/var/log/postgresql/": f"{self.folder}/",
            "/var/run/postgresql/": f"{self.folder}/",
            "unix_socket_dir = /var/run/postgresql": (
                f"unix_socket_dir = {self.folder}"
            ),
            "/etc/pgbouncer/": f"{self.folder}/",
            "default_pool_size = 32": f"default_pool_size = {POOL_SIZE}",
        }
        configuration = (ROOT / "docs/examples/pgbouncer.ini").read_text()
        for old, new in replaced.items():
            assert configuration.count(old) == 1, old
            configuration = configuration.replace(old, new)
        (self.folder / "pgbouncer.ini").write_text(configuration)
        (self.folder / "userlist.txt").write_text(
            f'"{database.username}" "{PASSWORD}"\n'
        )

    def start(self) -> None:
        self.give_away_files()
        command = [find("pgbouncer"), "--quiet", self.folder / "pgbouncer.ini"]
        self.process = start_server(
            command,
            self.folder / "output.log",
            lambda: listens(self.port),
            **UNPRIVILEGED,
        )

    def stop(self) -> None:
        stop_server(self.process)


def main(command: list[str]) -> int:
    """Run a command with a server, and return its exit status."""
    with Cluster() as cluster:
        urls = {"DATABASE_URL": cluster.url, "CI_DATABASE_URL": cluster.url}
        return subprocess.run(
            command, env={**os.environ, **urls}, check=False
        ).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
