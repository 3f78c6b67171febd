"""Several hosts of the service behind nginx, each with a loopback address of its own."""

import shutil
import signal
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx

from tests.bookmarks_service.nginx import Nginx
from tests.bookmarks_service.service import ROOT, documented_options, environment, server_command, workers_have_started
from tests.servers import (
    CERTIFICATES,
    TIMEOUT,
    free_port,
    kill_server,
    listens,
    running_server,
    start_server,
    stop_server,
    wait_until,
)

REDIS = shutil.which("redis-server")

FORWARDED = {"Host": "localhost", "X-Forwarded-For": "127.0.0.1", "X-Forwarded-Proto": "https"}
"""The headers that nginx adds, for calls that go past it to one host."""


@contextmanager
def redis_server(folder: Path) -> Iterator[str]:
    """Run a Redis server that stores nothing on disk, and yield its CACHE_URL."""
    port = free_port()
    command = [REDIS, "--bind", "127.0.0.1", "--port", str(port), "--save", "", "--appendonly", "no", "--dir", folder]
    with running_server(command, folder / "redis.log", lambda: listens(port)):
        yield f"redis://127.0.0.1:{port}/0"


class Host:
    """The service on one address. The name of its database connections is the address."""

    def __init__(self, folder: Path, address: str, **variables: str) -> None:
        self.address, self.port = address, free_port()
        self.netloc = f"{address}:{self.port}"
        self.log = folder / f"{address}.log"
        self.variables = environment(PGAPPNAME=address, **documented_options() | variables)

    def start(self) -> None:
        command = server_command(self.port, "--host", self.address)
        self.process = start_server(command, self.log, self.is_ready, cwd=ROOT, env=self.variables)

    def is_ready(self) -> bool:
        with suppress(httpx.TransportError):
            return self.request("GET", "/readyz").status_code == 200
        return False

    def stop(self) -> None:
        wait_until(lambda: self.process.poll() is not None or workers_have_started(self.log))
        stop_server(self.process)

    def kill(self) -> None:
        """End all processes of the host at once, as a power failure does."""
        kill_server(self.process)

    def reload(self) -> None:
        self.process.send_signal(signal.SIGHUP)

    def worker_pids(self) -> set[str]:
        return set(Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split())

    def answered(self, path: str) -> int:
        """Return how many requests with this path the host has answered since it was started."""
        return self.log.read_text().count(f'"path": "{path}"')

    def request(self, method: str, path: str, **options: Any) -> httpx.Response:
        """Make a call past nginx."""
        url = f"http://{self.netloc}{path}"
        return httpx.request(method, url, headers=FORWARDED, timeout=TIMEOUT, verify=CERTIFICATES, **options)


class Hosts:
    """Two hosts with one database and one cache behind nginx.

    ``secrets`` are those of ``quickstart``, which has filled the database.
    """

    def __init__(self, folder: Path, database_url: str, cache_url: str, secrets: list[str], **variables: str) -> None:
        self.database_url = database_url
        self.api_token, self.access_token, self.password = secrets
        shared = {"DATABASE_URL": database_url, "CACHE_URL": cache_url, "HTTPS": "1", "SECRET_KEY": "x" * 50}
        self.hosts = [
            Host(folder, address, **shared, GRANIAN_WORKERS="2", **variables) for address in ("127.0.0.2", "127.0.0.3")
        ]
        self.nginx = Nginx(folder, *(host.netloc for host in self.hosts))

    def __enter__(self) -> "Hosts":
        with ExitStack() as stack:
            for host in self.hosts:
                host.start()
                stack.callback(host.stop)
            stack.enter_context(self.nginx)
            self.stack = stack.pop_all()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.stack.close()
        for host in self.hosts:
            text = host.log.read_text()
            secrets = (self.api_token, self.access_token, self.password)
            assert not any(secret in text for secret in secrets), "a secret was logged"

    def client(self, address: str = "127.0.0.1", **headers: str) -> Any:
        """Return a client of nginx with the access token. ``address`` is its own."""
        return self.nginx.client(self, address, **headers)
