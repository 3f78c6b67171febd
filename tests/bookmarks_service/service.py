"""Run the service in its own processes, with its own database."""

import atexit
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest
from django.conf import settings

from tests.documents import ROOT
from tests.servers import (
    CERTIFICATES,
    TIMEOUT,
    free_port,
    listens,
    run_program,
    start_server,
    stop_server,
    wait_until,
)


@contextmanager
def empty_database(folder: Path) -> Iterator[str]:
    """Yield the DATABASE_URL of a new database of the kind that the tests run
    on.

    If the tables of the tests are partitioned (TEST_PARTITIONS), it already
    has the tables, partitioned as well.
    """
    database = settings.DATABASES["default"]
    if database["ENGINE"] == "django.db.backends.sqlite3":
        yield f"sqlite:///{folder / 'db.sqlite3'}"
        return
    import psycopg  # noqa: PLC0415

    server = f"postgres://{database['USER']}:{database['PASSWORD']}@{database['HOST']}:{database['PORT'] or 5432}"
    name = f"service_{uuid4().hex}"
    with psycopg.connect(f"{server}/postgres", autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
        try:
            if "TEST_PARTITIONS" in os.environ:
                # for runs that tests/citus starts
                from tests.citus.partitions import partition  # noqa: PLC0415

                result = manage("migrate", DATABASE_URL=f"{server}/{name}")
                assert result.returncode == 0, result.stderr
                with psycopg.connect(f"{server}/{name}") as new, new.cursor() as cursor:
                    partition(cursor, int(os.environ["TEST_PARTITIONS"]))
            yield f"{server}/{name}"
        finally:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


def environment(**variables: str) -> dict[str, str]:
    """Return an environment for a command, in which ``variables`` are the only
    settings of the service.
    """
    kept = {
        key: os.environ[key] for key in ("PATH", "HOME", "LANG") if key in os.environ
    }
    return {**kept, **variables}


def manage(*args: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return run_python("manage.py", *args, **variables)


def run_python(*args: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return run_program(sys.executable, *args, cwd=ROOT, env=environment(**variables))


def documented_options() -> dict[str, str]:
    """Return the variables for the server in the systemd unit."""
    unit = (ROOT / "docs/examples/bookmarks_service@.service").read_text()
    return dict(re.findall(r"^Environment=(GRANIAN_\w+)=(.*)$", unit, re.MULTILINE))


def server_command(port: int, *options: str) -> list[str]:
    return [
        sys.executable,
        "-m",
        "granian",
        "--port",
        str(port),
        *options,
        "bookmarks_service.wsgi:application",
    ]


def workers_have_started(log: Path) -> bool:
    """Return whether all workers that the server has spawned are ready.

    Before that, they ignore SIGTERM.

    In the log, the name of a worker ends with a line break or, in JSON, with a
    quotation mark.
    """
    text = log.read_text()
    spawned = set(re.findall(r"Spawning (worker-\d+)", text))
    for name in spawned:
        started = max(text.rfind(f"Started {name}{end}") for end in '\n"')
        # A worker that replaces another one has its name.
        if started < text.rfind(f"Spawning {name} "):
            return False
    return bool(spawned)


@cache
def static_files() -> str:
    """Return a folder with the static files, which the server needs to start.

    It is deleted when the process of the tests ends.
    """
    folder = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, folder)
    result = manage("collectstatic", "--noinput", DEBUG="1", STATIC_ROOT=folder)
    assert result.returncode == 0, result.stderr
    return folder


@cache
def demo() -> tuple[bytes, str]:
    """Return a SQLite database with the data of ``quickstart``, and what the
    command printed.
    """
    with tempfile.TemporaryDirectory() as folder:
        result = manage(
            "quickstart",
            "--no-serve",
            DATABASE_URL=f"sqlite:///{folder}/db",
            SECRET_KEY="not-a-secret",
        )
        assert result.returncode == 0, result.stderr
        return Path(folder, "db").read_bytes(), result.stdout


class Service:
    """The service with the data of ``quickstart`` and the documented options
    of the server.
    """

    def __init__(self, folder: Path, database_url: str, **variables: str) -> None:
        self.database_url = database_url
        self.variables = variables
        self.port = free_port()
        self.log = folder / f"service_{self.port}.log"
        self.base_url = f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> "Service":
        self.create_data()
        self.start()
        return self

    def start(self) -> None:
        self.process = start_server(
            server_command(self.port),
            self.log,
            lambda: workers_have_started(self.log) and listens(self.port),
            cwd=ROOT,
            env=self.environment(),
        )

    def environment(self) -> dict[str, str]:
        variables = {
            "DATABASE_URL": self.database_url,
            "SECRET_KEY": "not-a-secret",
            "STATIC_ROOT": static_files(),
            "GRANIAN_STATIC_PATH_MOUNT": static_files(),
            **self.variables,
        }
        return environment(**{**documented_options(), **variables})

    def create_data(self) -> None:
        """Create the data of ``quickstart``, and keep its secrets and curl
        commands, for the port of this service.
        """
        if self.database_url.startswith("sqlite:"):
            database, printed = demo()
            Path(self.database_url.removeprefix("sqlite:///")).write_bytes(database)
        else:
            result = manage("quickstart", "--no-serve", **self.environment())
            assert result.returncode == 0, result.stderr
            printed = result.stdout
        self.api_token = re.search(r"Token (uga_\w+)", printed)[1]
        self.access_token = re.search(r"Bearer (bma_\w+)", printed)[1]
        self.password = re.search(r"password (\S+)\)", printed)[1]
        self.curls = re.findall(
            r"^curl (?:.*\\\n)*.*$",
            printed.replace(":8000/", f":{self.port}/"),
            re.MULTILINE,
        )

    @contextmanager
    def another_host(self, folder: Path) -> "Iterator[Service]":
        """Run the service with the same settings and data on another port."""
        other = Service(folder, self.database_url, **self.variables)
        other.api_token = self.api_token
        other.access_token = self.access_token
        other.password = self.password
        other.start()
        try:
            yield other
        finally:
            other.stop()

    def __exit__(self, *exc_info: object) -> None:
        self.stop()

    def stop(self) -> None:
        wait_until(
            lambda: self.process.poll() is not None or workers_have_started(self.log)
        )
        stop_server(self.process)
        assert not re.search(r"(uga|bma|ugt)_\w{38}", self.log.read_text()), (
            "a secret was logged"
        )

    def manage(self, *args: str) -> subprocess.CompletedProcess[str]:
        return manage(*args, DATABASE_URL=self.database_url, SECRET_KEY="not-a-secret")

    def request(self, method: str, path: str, **options: Any) -> httpx.Response:
        """Make a call with these options of httpx, on a connection of its own."""
        return httpx.request(
            method,
            self.base_url + path,
            timeout=TIMEOUT,
            verify=CERTIFICATES,
            **options,
        )

    def issue_tokens(self, team: str) -> tuple[str, str]:
        """Create a team with a user group, and return the secrets of an API
        token of the team and of an access token of the group.
        """
        created = self.manage("create_api_token", "--team", team, "--create-team")
        api_token = created.stdout.strip()
        headers = {"Authorization": f"Token {api_token}"}
        group = {"user_group_id": "a"}
        self.request("POST", "/api/user", json=group, headers=headers)
        issued = self.request(
            "POST", "/api/user/access-tokens", json=group, headers=headers
        )
        return api_token, issued.json()["access_token"]["secret"]

    def client(self) -> httpx.Client:
        """Return a client with the access token."""
        headers = {"Authorization": f"Bearer {self.access_token}"}
        return httpx.Client(
            base_url=self.base_url,
            headers=headers,
            timeout=TIMEOUT,
            verify=CERTIFICATES,
        )

    def update_user_group(self, **fields: object) -> httpx.Response:
        """Update the user group that the command ``quickstart`` created."""
        headers = {"Authorization": f"Token {self.api_token}"}
        return self.request(
            "PUT",
            "/api/user",
            json={"user_group_id": "example_1", **fields},
            headers=headers,
        )

    def create_bookmark(self, **fields: object) -> httpx.Response:
        headers = {"Authorization": f"Bearer {self.access_token}"}
        return self.request("POST", "/v1/bookmarks", json=fields, headers=headers)

    def worker_pids(self) -> list[int]:
        """Return the ids of the worker processes, which Linux lists by the
        thread that has started them.
        """
        tasks = Path(f"/proc/{self.process.pid}/task").glob("*/children")
        return [int(pid) for children in tasks for pid in children.read_text().split()]

    def wait_for_replacements(self, before: list[int]) -> None:
        """Wait until the workers ``before`` have ended and their successors
        are ready.
        """

        def are_replaced() -> bool:
            pids = self.worker_pids()
            return (
                len(pids) == len(before)
                and not set(pids) & set(before)
                and workers_have_started(self.log)
            )

        wait_until(are_replaced)

    def connect(self, data: bytes = b"") -> socket.socket:
        """Open a connection and send ``data``."""
        connection = socket.create_connection(("127.0.0.1", self.port), timeout=TIMEOUT)
        connection.sendall(data)
        return connection

    def send(self, request: bytes, ends: bool = False) -> bytes:
        """Send bytes as they are and return everything that the service
        answers until it closes the connection.

        With ``ends``, the client closes its side after the request.
        """
        with self.connect() as connection:
            answer = b""
            # The service closes the connection when it refuses a request
            # early.
            with suppress(OSError):
                connection.sendall(request)
                if ends:
                    connection.shutdown(socket.SHUT_WR)
            with suppress(ConnectionResetError):
                while received := connection.recv(65536):
                    answer += received
            return answer


@contextmanager
def new_service(
    factory: pytest.TempPathFactory, name: str, **variables: str
) -> Iterator[Service]:
    """Run a service with a new database in a new folder."""
    folder = factory.mktemp(name)
    with (
        empty_database(folder) as database_url,
        Service(folder, database_url, **variables) as service,
    ):
        yield service
