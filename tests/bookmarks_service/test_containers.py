"""The Dockerfile, compose.yaml, and the steps in docs/deploy.md that use them."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys

import pytest
import yaml
from compose_spec import PyCompose
from docker.utils import exclude_paths

from tests.bookmarks_service.hosts import REDIS
from tests.bookmarks_service.image import Image, can_run, copy_context, dockerignore
from tests.bookmarks_service.nginx import NGINX
from tests.bookmarks_service.service import ROOT
from tests.servers import TIMEOUT, running_server

pytestmark = pytest.mark.once

COMPOSE = yaml.safe_load((ROOT / "compose.yaml").read_text())
SERVICES = COMPOSE["services"]
SECTION = (ROOT / "docs/deploy.md").read_text().partition("## Containers\n")[2].partition("\n## ")[0]
PREPARE, START, RUN_IMAGE = re.findall(r"^```sh\n(.*?)^```", SECTION, re.DOTALL | re.MULTILINE)

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
"""Runs ``docker compose exec -T service`` in the container of the test, and ignores other commands."""


def test_the_linter_accepts_the_dockerfile():
    hadolint = shutil.which("hadolint", path=f"{os.path.dirname(sys.executable)}:{os.environ['PATH']}")
    result = subprocess.run([hadolint, "Dockerfile"], cwd=ROOT, capture_output=True, text=True, check=False)

    assert result.returncode == 0, result.stdout


def test_the_compose_file_is_valid():
    PyCompose.from_json(json.dumps(COMPOSE)).validate()


@pytest.mark.parametrize("name", SERVICES)
def test_every_container_is_hardened(name):
    service = SERVICES[name]

    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert ":" in service.get("image", "") or service["build"] == "."


def test_secrets_have_no_default_and_come_from_the_documented_file():
    used = dict(re.findall(r"\$\{(\w+)(.*?)\}", (ROOT / "compose.yaml").read_text()))

    assert used.keys() == set(re.findall(r"^(\w+)=", PREPARE, re.MULTILINE))
    assert all(rest.startswith(":?") for rest in used.values())


def test_the_settings_of_the_service_are_documented():
    table = (ROOT / "docs/deploy.md").read_text().partition("## Settings\n")[2].partition("\n## ")[0]

    assert SERVICES["service"]["environment"].keys() <= set(re.findall(r"^\| `(\w+)`", table, re.MULTILINE))


def checks(name):
    """Return the command of a health check in compose.yaml."""
    kind, *command = SERVICES[name]["healthcheck"]["test"]
    assert kind == "CMD"
    return command


def host_files():
    return {volume["source"].removeprefix("./") for volume in SERVICES["nginx"]["volumes"]}


def test_the_secret_files_get_neither_into_the_repository_nor_into_the_image(tmp_path):
    files = {".env", *host_files()}
    for name in files:
        (tmp_path / name).touch()

    assert files <= set((ROOT / ".gitignore").read_text().splitlines())
    assert files.isdisjoint(exclude_paths(tmp_path, dockerignore()))


def test_only_what_the_service_needs_gets_into_the_image(tmp_path):
    copy_context(tmp_path)

    assert {path.name for path in tmp_path.iterdir()} == {
        "LICENSE", "README.md", "bookmarks", "bookmarks_service", "constraints.txt", "manage.py", "pyproject.toml",
        "templates", "usergroups", "Dockerfile", ".dockerignore",
    }  # fmt: skip
    assert not list(tmp_path.rglob("*.pyc"))


@pytest.fixture(scope="module")
def image(tmp_path_factory):
    if not can_run():
        pytest.skip("only root can make namespaces and file systems")
    with Image(tmp_path_factory.mktemp("image")) as built:
        yield built


def test_the_image_has_no_tools_for_builds_or_tests(image):
    installed = set(image.run("pip", "freeze", "--exclude-editable").stdout.lower().replace("_", "-").split())
    constraints = (ROOT / "constraints.txt").read_text().lower().replace("_", "-").split()

    names = {name.partition("==")[0] for name in installed}
    assert {"django", "gunicorn", "psycopg", "psycopg-binary", "redis"} <= names
    assert names.isdisjoint({"hatchling", "hypothesis", "mypy", "pytest", "ruff", "tox"})
    assert installed <= set(constraints)


@pytest.mark.parametrize("path", ["/app/file", "/etc/file", "/opt/base/file"])
def test_the_root_file_system_is_read_only(image, path):
    result = image.run("touch", path)

    assert "Read-only file system" in result.stderr


def test_the_container_runs_as_a_user_without_rights(image):
    assert image.run("id", "-u").stdout == "10001\n"
    capabilities = image.run("grep", "^Cap", "/proc/self/status").stdout
    assert set(re.findall(r"\t(\w+)", capabilities)) == {"0" * 16}


@pytest.fixture
def prepared(tmp_path):
    """Run the documented preparation in a folder, and return the folder."""
    if not shutil.which("openssl"):
        pytest.skip("There is no openssl command to make a certificate.")
    (tmp_path / "docs").mkdir()
    shutil.copy(ROOT / "docs/deploy.md", tmp_path / "docs")
    subprocess.run(["sh", "-ec", PREPARE], cwd=tmp_path, check=True, capture_output=True)
    return tmp_path


def environment_of_the_service(folder):
    """Return the variables of the service in compose.yaml, with those in ``.env`` filled in and SQLite as database."""
    values = dict(line.split("=", 1) for line in (folder / ".env").read_text().splitlines())
    variables = {
        name: re.sub(r"\$\{(\w+).*?\}", lambda match: values[match[1]], value)
        for name, value in SERVICES["service"]["environment"].items()
    }
    return {**variables, "DATABASE_URL": "sqlite:////tmp/db.sqlite3"}


def test_the_preparation_makes_the_files_that_only_their_owner_reads(prepared):
    files = {".env", *host_files()}

    assert {path.name for path in prepared.iterdir() if path.is_file()} == files
    assert {(prepared / name).stat().st_mode & 0o777 for name in files} == {0o600}


@pytest.mark.skipif(NGINX is None or REDIS is None, reason="nginx or Redis is not installed")
def test_the_documented_steps_lead_to_a_first_call(image, prepared):
    """nginx, Redis and the service share a network, as they do with compose.yaml. The database is SQLite."""
    variables = environment_of_the_service(prepared)
    (prepared / "hosts").write_text("127.0.0.1 localhost redis\n")
    (prepared / "main.conf").write_text(NGINX_MAIN)
    image.check("mount", "--bind", prepared / "hosts", f"{image.root}/etc/hosts")
    image.check("cp", prepared / "main.conf", f"{image.root}/tmp/main.conf")
    for volume in SERVICES["nginx"]["volumes"]:
        image.mount(prepared / volume["source"], volume["target"])
    migrated = image.run(*SERVICES["migrate"]["command"], **variables)
    assert migrated.returncode == 0, migrated.stderr
    docker = prepared / "docker"
    docker.write_text(DOCKER.format(command=" ".join([*image.enter("--net"), *image.in_container(**variables)])))
    docker.chmod(0o755)
    redis = [*image.enter("--net"), *image.in_container(*SERVICES["redis"]["command"], "--dir", "/tmp")]
    nginx = [*image.enter("--net"), "chroot", image.root, NGINX, "-c", "/tmp/main.conf", "-g", "daemon off;"]
    inside = [*image.enter("--net"), f"--wd={prepared}", "env", f"PATH={prepared}:{os.environ['PATH']}"]

    with (
        running_server(redis, prepared / "redis.log", lambda: image.run(*checks("redis")).returncode == 0),
        running_server(image.command(**variables), prepared / "service.log", image.is_healthy),
        running_server(nginx, prepared / "nginx.log", lambda: (prepared / "nginx.log").exists()),
    ):
        ready = subprocess.run(
            [*inside, *SERVICES["nginx"]["healthcheck"]["test"][1:]], capture_output=True, check=True
        )
        first_call = subprocess.run(
            [*inside, "sh", "-ec", START], capture_output=True, text=True, timeout=TIMEOUT, check=False
        )

    assert json.loads(ready.stdout) == {"success": 1, "cache": "ok"}
    assert first_call.returncode == 0, first_call.stderr
    assert json.loads(first_call.stdout)["user_group"]["provided_id"] == "example_1"


def test_sigterm_reaches_gunicorn(image, tmp_path):
    variables = {"SECRET_KEY": "x" * 50, "DATABASE_URL": "sqlite:////tmp/other.sqlite3"}
    with running_server(image.command(**variables), tmp_path / "service.log", image.is_healthy) as process:
        os.kill(image.first_process(process), signal.SIGTERM)

        assert process.wait(timeout=TIMEOUT) == 0
        assert not image.is_healthy()
    assert "Handling signal: term" in (tmp_path / "service.log").read_text()
