"""Run the services of compose.yaml without Docker, on the network of one container."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import yaml

from tests.bookmarks_service.cluster import binaries
from tests.bookmarks_service.hosts import REDIS
from tests.bookmarks_service.image import Image
from tests.bookmarks_service.nginx import NGINX
from tests.bookmarks_service.service import ROOT
from tests.servers import running_server

COMPOSE = yaml.safe_load((ROOT / "compose.yaml").read_text())
SERVICES = COMPOSE["services"]

PGBOUNCER = shutil.which("pgbouncer", path=f"{os.environ['PATH']}:/usr/sbin")

PROGRAMS = [NGINX, REDIS, PGBOUNCER, binaries(), *map(shutil.which, ("curl", "openssl", "pg_isready"))]

NETWORK = """\
127.0.0.1 localhost redis postgres
127.0.0.2 pgbouncer
"""

PGBOUNCER_INI = """
[databases]
{DB_NAME} = host={DB_HOST} port=5432
[pgbouncer]
listen_addr = 127.0.0.2
listen_port = 5432
unix_socket_dir =
auth_file = /tmp/userlist.txt
auth_type = {AUTH_TYPE}
pool_mode = {POOL_MODE}
max_client_conn = {MAX_CLIENT_CONN}
default_pool_size = {DEFAULT_POOL_SIZE}
query_wait_timeout = {QUERY_WAIT_TIMEOUT}
"""
"""What the image of PgBouncer makes of the variables in compose.yaml."""

NGINX_MAIN = """
pid /tmp/nginx.pid;
user root;
events {}
http {
    access_log off;
    client_body_temp_path /tmp/body;
    proxy_temp_path /tmp/proxy;
    fastcgi_temp_path /tmp/fastcgi;
    uwsgi_temp_path /tmp/uwsgi;
    scgi_temp_path /tmp/scgi;
    include /etc/nginx/conf.d/*.conf;
}
"""

DOCKER = """#!/bin/sh -e
[ "$1" = compose ]
[ "$2" = exec ] || exit 0
shift 4
exec {command} "$@"
"""
"""Runs ``docker compose exec -T service`` in the container, and ignores other commands."""


class Composed:
    """The services, each with its command, variables, files and health check in compose.yaml.

    ``folder`` has the files that compose.yaml reads.
    """

    def __init__(self, image: Image, folder: Path) -> None:
        self.image, self.folder = image, folder
        self.secrets = dict(line.split("=", 1) for line in (folder / ".env").read_text().splitlines())

    @contextmanager
    def running(self) -> Iterator[None]:
        self.write("hosts", NETWORK)
        self.image.check("mount", "--bind", self.folder / "hosts", f"{self.image.root}/etc/hosts")
        with ExitStack() as stack:
            stack.enter_context(self.server("redis", self.image.in_container(*SERVICES["redis"]["command"])))
            stack.enter_context(self.server("postgres", self.postgresql()))
            self.run(*self.as_postgres("createdb", "--host=/tmp", "--username=bookmarks", "bookmarks"))
            self.run(*self.image.in_container(*SERVICES["migrate"]["command"], **self.variables("migrate")))
            stack.enter_context(self.server("pgbouncer", self.pgbouncer()))
            command = self.image.command(**self.variables("service"))
            stack.enter_context(running_server(command, self.folder / "service.log", self.image.is_healthy))
            stack.enter_context(self.server("nginx", self.nginx()))
            yield

    def server(self, name: str, command: list[Any]) -> Any:
        kind, *check = SERVICES[name]["healthcheck"]["test"]
        assert kind == "CMD"
        log = self.folder / f"{name}.log"
        if name == "pgbouncer":
            check = [part.replace("127.0.0.1", "127.0.0.2") for part in check]
        return running_server([*self.image.enter("--net"), *command], log, lambda: self.succeeds(*check), cwd="/")

    def variables(self, name: str) -> dict[str, str]:
        """Return the variables of a service, with the secrets filled in."""
        return {
            variable: re.sub(r"\$\{(\w+).*?\}", lambda match: self.secrets[match[1]], value)
            for variable, value in SERVICES[name]["environment"].items()
        }

    def postgresql(self) -> list[Any]:
        """Make an empty database system, as the image does, and return the command of the server."""
        data = "/var/lib/postgresql/data"
        self.image.check("mount", "-t", "tmpfs", "tmpfs", f"{self.image.root}/var/lib/postgresql")
        self.write("password", self.variables("postgres")["POSTGRES_PASSWORD"])
        self.image.check("install", "-m", "644", self.folder / "password", f"{self.image.root}/tmp/password")
        options = ["--auth-host=scram-sha-256", "--auth-local=trust", "--pwfile=/tmp/password", "--no-sync"]
        self.run(*self.as_postgres(binaries() / "initdb", *options, "--username=bookmarks", "-D", data))
        program, *arguments = SERVICES["postgres"]["command"]
        return self.as_postgres(binaries() / program, *arguments, "-D", data, "-k", "/tmp")

    def pgbouncer(self) -> list[Any]:
        variables = self.variables("pgbouncer")
        self.write("pgbouncer.ini", PGBOUNCER_INI.format(**variables))
        self.write("userlist.txt", '"{DB_USER}" "{DB_PASSWORD}"\n'.format(**variables))
        for name in ("pgbouncer.ini", "userlist.txt"):
            self.image.check("cp", self.folder / name, f"{self.image.root}/tmp/{name}")
        return self.as_postgres(PGBOUNCER, "/tmp/pgbouncer.ini")

    def as_postgres(self, *command: Any) -> list[Any]:
        return [
            "chroot",
            self.image.root,
            "setpriv",
            "--reuid=postgres",
            "--regid=postgres",
            "--clear-groups",
            *command,
        ]

    def nginx(self) -> list[Any]:
        self.write("main.conf", NGINX_MAIN)
        self.image.check("cp", self.folder / "main.conf", f"{self.image.root}/tmp/main.conf")
        for volume in SERVICES["nginx"]["volumes"]:
            self.image.mount(self.folder / volume["source"], volume["target"])
        return ["chroot", self.image.root, NGINX, "-c", "/tmp/main.conf", "-g", "daemon off;"]

    def write(self, name: str, text: str) -> None:
        (self.folder / name).write_text(text)
        (self.folder / name).chmod(0o644)

    def run(self, *command: Any) -> None:
        self.image.check("nsenter", f"--net=/proc/{self.image.pid}/ns/net", *command)

    def call(self, *command: str) -> "subprocess.CompletedProcess[str]":
        """Run a command in the folder and in the network, with a ``docker`` that knows this container."""
        self.write("docker", DOCKER.format(command=" ".join(self.exec("service"))))
        (self.folder / "docker").chmod(0o755)
        path = f"PATH={self.folder}:{os.environ['PATH']}"
        inside = [*self.image.enter("--net"), f"--wd={self.folder}", "env", path]
        return subprocess.run([*inside, *command], capture_output=True, text=True, check=False)

    def exec(self, name: str) -> list[str]:
        return [*self.image.enter("--net"), *self.image.in_container(**self.variables(name))]

    def succeeds(self, *command: str) -> bool:
        return self.call(*command).returncode == 0
