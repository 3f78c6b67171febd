"""Host projects that are served over HTTP, each with its own database, all
with the same rows.
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import httpx

from tests.bookmarks_service.service import static_files
from tests.documents import ROOT, blocks, page
from tests.host.calls import Call
from tests.servers import CERTIFICATES, TIMEOUT, free_port, running_server
from usergroups.tokens import secret_format

SCHEMES = {"api": "Token", "v1": "Bearer"}
"""The scheme of each app, by the first part of its paths."""

SECRETS = {
    **{
        f"{scheme} {state}": secret_format.generate(prefix)
        for scheme, prefix in [("Token", "uga"), ("Bearer", "bma")]
        for state in ("valid", "read-only", "expired", "revoked")
    },
    **{f"user group {number}": secret_format.generate("ugt") for number in (1, 2)},
}
"""The secret of each token, such as "Token expired", and of each user group,
which all hosts have.
"""
IDS = {
    f"id of {name}": secret_format.digest(secret).hex()
    for name, secret in SECRETS.items()
}
SEEDED = {**SECRETS, **IDS}


def fill_in(text: str) -> str:
    """Replace the names of seeded values in braces by the values."""
    return re.sub("{(%s)}" % "|".join(SEEDED), lambda match: SEEDED[match[1]], text)


class Host(NamedTuple):
    command: list[str]
    """The server's module and arguments."""
    prefixes: dict[str, str]
    """The prefix of each app, by the first part of its paths."""
    folder: Path
    environment: dict[str, str]

    @property
    def options(self) -> dict[str, object]:
        """The folder and the environment of the host's processes, as options
        of Popen.
        """
        environment = {
            **os.environ,
            "PYTHONPATH": f"{self.folder}:{ROOT}",
            **self.environment,
        }
        return {"cwd": self.folder, "env": environment}

    @contextmanager
    def serve(self, log: Path) -> Iterator[str]:
        """Serve the host with a new database, and yield its address."""
        subprocess.run(
            [sys.executable, "-m", "tests.host.seed"],
            check=True,
            timeout=TIMEOUT,
            input=json.dumps(SECRETS).encode(),
            **self.options,
        )
        port = free_port()
        address = f"http://127.0.0.1:{port}"

        def is_ready() -> bool:
            with suppress(httpx.TransportError):
                # Otherwise httpx loads all certificates, even for http.
                httpx.get(address, verify=CERTIFICATES)
                return True
            return False

        command = [
            sys.executable,
            "-m",
            *(argument.format(port=port) for argument in self.command),
        ]
        with running_server(command, log, is_ready, **self.options):
            yield address

    def send(self, address: str, call: Call) -> httpx.Response:
        """Make a call on a connection of its own, since servers close the
        connection when they refuse a body.
        """
        app = call.path.split("/")[1]
        headers = dict(call.headers)
        content = call.body
        if isinstance(content, dict):
            headers["Content-Type"] = "application/json"
            content = fill_in(json.dumps(content, ensure_ascii=False)).encode()
        elif isinstance(content, tuple):
            content = iter(content)  # so that httpx sends chunks
        if call.authorization is not None:
            authorization = call.authorization
            seeded = SECRETS.get(f"{SCHEMES[app]} {authorization}")
            if seeded is not None:
                authorization = f"{SCHEMES[app]} {seeded}"
            headers["Authorization"] = fill_in(authorization)
        return httpx.request(
            call.method,
            address + self.prefixes[app] + fill_in(call.path),
            content=content,
            headers=headers,
            timeout=TIMEOUT,
            verify=CERTIFICATES,
        )


def service(database_url: str) -> Host:
    """Return the service itself as a host."""
    command = [
        "granian",
        "--interface=wsgi",
        "--port={port}",
        "bookmarks_service.wsgi:application",
    ]
    environment = {
        "DJANGO_SETTINGS_MODULE": "bookmarks_service.settings",
        "DATABASE_URL": database_url,
        "SECRET_KEY": "not-a-secret",
        "STATIC_ROOT": static_files(),
    }
    return Host(command, {"api": "", "v1": ""}, ROOT, environment)


def asgi(folder: Path) -> Host:
    """Return a new project under ASGI, with the apps installed as
    docs/plug-in.md says.
    """
    subprocess.run(
        [sys.executable, "-m", "django", "startproject", "host", folder],
        check=True,
        timeout=TIMEOUT,
    )
    in_settings, in_urls, *_ = blocks(page("plug-in"), "python")
    settings = (
        in_settings,
        "DEBUG = False",
        "ALLOWED_HOSTS = ['127.0.0.1']",
        "SECRET_KEY = 'not-a-secret'  # It signs the cursors of lists.",
        "MIDDLEWARE += ['tests.host.components.add_header']",
    )
    with (folder / "host" / "settings.py").open("a") as file:
        file.write("\n".join(settings))
    with (folder / "host" / "urls.py").open("a") as file:
        file.write(in_urls)
    command = [
        "uvicorn",
        "--port={port}",
        "--log-level=warning",
        "host.asgi:application",
    ]
    prefixes = {"api": "/groups", "v1": "/links"}
    return Host(command, prefixes, folder, {"DJANGO_SETTINGS_MODULE": "host.settings"})


def hostile(folder: Path) -> Host:
    """Return the project with tests/host/settings.py, which contradict the
    contract wherever they can.
    """
    command = [
        "gunicorn",
        "--threads=4",
        "--no-control-socket",
        "--bind=127.0.0.1:{port}",
        "django.core.wsgi:get_wsgi_application()",
    ]
    environment = {
        "DJANGO_SETTINGS_MODULE": "tests.host.settings",
        "DATABASE_URL": f"sqlite:///{folder / 'db.sqlite3'}",
    }
    return Host(command, {"api": "/tenants/groups", "v1": "/links"}, ROOT, environment)
