"""Runs the service as its operators do: in processes of its own, on a database of its own, over real HTTP."""

import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from uuid import uuid4

import httpx
import pytest
from django.conf import settings

ROOT = Path(__file__).parents[2]


@contextmanager
def empty_database(folder: Path) -> Iterator[str]:
    """Yield the DATABASE_URL of a new database of the kind that the tests run on."""
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
            yield f"{server}/{name}"
        finally:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


@contextmanager
def small_disk(folder: Path, megabytes: int) -> Iterator[Path]:
    """A file system of so many megabytes, in a new folder."""
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(folder)]
    if os.getuid() != 0 or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("only root can make a file system")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", folder], check=True)
        folder.rmdir()


def environment(**variables: str) -> dict[str, str]:
    """A shell's environment with nothing of the service's in it but ``variables``."""
    kept = {key: os.environ[key] for key in ("PATH", "HOME", "LANG") if key in os.environ}
    return {**kept, **variables}


def manage(*args: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "manage.py", *args],
        cwd=ROOT, env=environment(**variables), capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip


class Service:
    """A quickstart that serves."""

    def __init__(self, folder: Path, database_url: str, **variables: str) -> None:
        self.database_url, self.variables = database_url, variables
        self.log = folder / "service.log"
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.base_url = f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> "Service":
        variables = {"DATABASE_URL": self.database_url, **self.variables}
        with self.log.open("wb") as output:
            self.process = subprocess.Popen(
                [sys.executable, "manage.py", "quickstart", "--port", str(self.port)],
                cwd=ROOT, env=environment(**variables), stdout=output, stderr=output,
            )  # fmt: skip
        for _ in range(300):
            try:
                httpx.get(self.base_url, timeout=60)
            except httpx.ConnectError:
                time.sleep(0.1)
            else:
                break
        text = self.log.read_text()
        self.api_token = re.search(r"Token (uga_\w+)", text)[1]
        self.access_token = re.search(r"Bearer (bma_\w+)", text)[1]
        self.password = re.search(r"password (\S+)\)", text)[1]
        self.curls = [line for line in text.splitlines() if line.startswith("curl ")]
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(timeout=30)
        _, _, log = self.log.read_text().partition("Starting gunicorn")
        assert not re.search(r"(uga|bma|ugt)_\w{38}", log), "a secret was logged"

    def manage(self, *args: str) -> subprocess.CompletedProcess[str]:
        return manage(*args, DATABASE_URL=self.database_url, SECRET_KEY="not-a-secret")

    def update_user_group(self, client: httpx.Client | None = None, **fields: object) -> httpx.Response:
        headers = {"Authorization": f"Token {self.api_token}"}
        body = {"user_group_id": "example_1", **fields}
        return (client or httpx).put(f"{self.base_url}/api/user", json=body, headers=headers, timeout=60)

    def create_bookmark(self, client: httpx.Client | None = None, **fields: object) -> httpx.Response:
        headers = {"Authorization": f"Bearer {self.access_token}"}
        return (client or httpx).post(f"{self.base_url}/v1/bookmarks", json=fields, headers=headers, timeout=60)

    def send(self, request: bytes) -> bytes:
        """Send bytes as they are and return all that comes back."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=30) as connection:
            answer = b""
            with suppress(OSError):  # who is refused early finds the connection closed
                connection.sendall(request)
                connection.shutdown(socket.SHUT_WR)
            with suppress(ConnectionResetError):
                while received := connection.recv(65536):
                    answer += received
            return answer
