"""The Dockerfile and compose.yaml.

The last tests build the image and start the containers. They are skipped if no
Docker daemon answers.
"""

import json
import os
import re
import shutil
import socketserver
import ssl
import sys
import time
from contextlib import suppress
from http.server import BaseHTTPRequestHandler
from threading import Thread

import httpx
import pytest
import yaml
from compose_spec import PyCompose

from tests.bookmarks_service.service import documented_options
from tests.documents import ROOT, blocks, names, page, section
from tests.programs import find, require
from tests.servers import free_port, run_program, wait_until

pytestmark = pytest.mark.database_independent

COMPOSE = yaml.safe_load((ROOT / "compose.yaml").read_text())
SERVICES = COMPOSE["services"]
OURS = ["service", "bulk", "migrate"]
DOCUMENTED = blocks(page("containers"), "sh")


def documented(*words):
    """Return the documented commands that contain all the words."""
    [block] = [block for block in DOCUMENTED if all(word in block for word in words)]
    return block


def run(command, folder, **options):
    """Run shell commands until one fails, and return their output."""
    result = run_program("sh", "-ec", command, cwd=folder, **options)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def prepared_clone(folder):
    """Make what a clone contains, and the files that the documented
    preparation makes.
    """
    require("openssl", "git")
    allowed = re.findall(r"^!(.*)", (ROOT / ".dockerignore").read_text(), re.MULTILINE)
    files = [".dockerignore", "Dockerfile", "compose.yaml", "docs/examples"]
    for name in [*allowed, *files]:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name)
        else:
            shutil.copy(ROOT / name, folder / name)
    author = "-c user.name=test -c user.email=test@example.com"
    commit = "commit --quiet --allow-empty --message=Test"
    run(f"git init --quiet && git {author} {commit}", folder)
    before = set(folder.iterdir())
    run(documented("install -d", "nginx.conf"), folder)
    return {path.name for path in set(folder.iterdir()) - before}


class NotReady(BaseHTTPRequestHandler):
    """The service without its database."""

    def do_GET(self):
        self.send_error(503 if self.path == "/readyz" else 404)


def test_the_linter_accepts_the_dockerfile():
    result = run_program(find("hadolint"), "Dockerfile", cwd=ROOT)

    assert result.returncode == 0, result.stdout


def test_the_compose_file_is_valid():
    PyCompose.from_json(
        re.sub(r"\$\{VERSION.*?\}", "1.0.0", json.dumps(COMPOSE))
    ).validate()


@pytest.mark.parametrize("name", SERVICES)
def test_every_container_is_hardened_and_limited(name):
    assert SERVICES[name]["read_only"] is True
    assert SERVICES[name]["cap_drop"] == ["ALL"]
    assert SERVICES[name]["security_opt"] == ["no-new-privileges:true"]
    assert SERVICES[name]["mem_limit"]
    assert SERVICES[name]["logging"]["options"].keys() == {"max-size", "max-file"}


def test_clients_reach_the_other_containers_only_through_nginx():
    assert COMPOSE["networks"]["backend"] == {"internal": True}
    for name, service in SERVICES.items():
        is_reached = name == "nginx"
        assert (service["networks"] != ["backend"]) == is_reached
        assert ("ports" in service) == is_reached


def test_only_a_ready_service_is_healthy():
    [command] = {tuple(SERVICES[name]["healthcheck"]["test"]) for name in OURS}
    with socketserver.TCPServer(("127.0.0.1", 0), NotReady) as server:
        Thread(target=server.handle_request).start()
        code = command[-1].replace("8000", str(server.server_address[1]))
        result = run_program(sys.executable, "-c", code)

    assert command[:3] == ("CMD", "python", "-c")
    assert "HTTP Error 503" in result.stderr
    assert result.returncode == 1


def test_no_secret_is_in_the_environment_of_a_container():
    services = SERVICES.values()
    used = {path for each in services for path in each.get("secrets", [])}
    variables = {name for each in services for name in each.get("environment", {})}
    secret = re.compile("SECRET|PASSWORD|DATABASE_URL|AUTH_FILE")

    assert used == COMPOSE["secrets"].keys()
    assert {name for name in variables if secret.search(name)} == {
        "SECRET_KEY_FILE",
        "DATABASE_URL_FILE",
        "POSTGRES_PASSWORD_FILE",
        "AUTH_FILE",
    }


@pytest.mark.parametrize("name", OURS)
def test_the_containers_have_the_documented_options_and_settings(name):
    dockerfile = (ROOT / "Dockerfile").read_text()
    options = dict(re.findall(r"(GRANIAN_\w+)=(\S+)", dockerfile))
    known = names(section("settings", "Variables")) | options.keys() | {"PGOPTIONS"}

    assert options == {**documented_options(), "GRANIAN_HOST": "0.0.0.0"}
    assert SERVICES[name]["environment"].keys() <= known


def test_the_documented_preparation_makes_the_files_and_protects_the_secrets(tmp_path):
    made = prepared_clone(tmp_path)
    bound = {
        each["source"].removeprefix("./")
        for each in SERVICES["nginx"]["volumes"]
        if isinstance(each, dict)
    }
    from_the_clone = {name for name in bound if (ROOT / name).exists()}
    secrets = {each["file"] for each in COMPOSE["secrets"].values()}
    variables = {
        line.partition("=")[0] for line in (tmp_path / ".env").read_text().splitlines()
    }

    assert made == {".env", "secrets", *bound - from_the_clone}
    folder = tmp_path / "secrets"
    assert {f"./secrets/{path.name}" for path in folder.iterdir()} == secrets
    assert folder.stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "tls.key").stat().st_mode & 0o777 == 0o600
    compose = (ROOT / "compose.yaml").read_text()
    assert variables == set(re.findall(r"\$\{(\w+):\?", compose))
    # Git and images do not get these files.
    ignored = (ROOT / ".gitignore").read_text().replace("/\n", "\n").splitlines()
    assert {name.removesuffix("/") for name in made} <= set(ignored)
    assert "*" in (ROOT / ".dockerignore").read_text().splitlines()


def test_the_documented_preparation_can_be_repeated_and_keeps_what_exists(tmp_path):
    prepared_clone(tmp_path)
    (tmp_path / ".env").write_text("VERSION=1\nALLOWED_HOSTS=a.example\n")
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    before = {path: path.read_bytes() for path in files}

    run(documented("install -d", "nginx.conf"), tmp_path)

    assert {path: path.read_bytes() for path in files} == before


def run_daily_work(folder, **variables):
    """Run containers_daily.sh of a clone with a program in place of Docker that
    prints what it gets, or fails for a word in it.
    """
    examples = folder / "clone/docs/examples"
    examples.mkdir(parents=True)
    shutil.copy(ROOT / "docs/examples/containers_daily.sh", examples)
    docker = folder / "docker"
    docker.write_text('#!/bin/sh\necho "$*"\ncase $* in *"$FAILS"*) exit 1; esac\n')
    docker.chmod(0o755)
    path = f"{folder}:{os.environ['PATH']}"
    variables = {"PATH": path, "FAILS": "nothing", **variables}
    return run_program("sh", examples / "containers_daily.sh", env=variables)


def test_the_daily_work_of_containers_backs_up_and_cleans(tmp_path):
    backups = tmp_path / "bookmarks_service_backups"
    backups.mkdir()
    for name, days in (("old.dump", 16), ("new.dump", 13)):
        (backups / name).touch()
        os.utime(backups / name, times=(time.time() - days * 86400,) * 2)

    result = run_daily_work(tmp_path)

    assert re.findall(r"manage\.py (\w+)", result.stdout) == ["prune", "clearsessions"]
    [backup] = set(backups.iterdir()) - {backups / "new.dump"}
    assert " pg_dump " in backup.read_text()
    assert backup.stat().st_mode & 0o777 == 0o600


def test_a_failed_backup_of_containers_is_told_and_deletes_no_other(tmp_path):
    backups = tmp_path / "bookmarks_service_backups"
    backups.mkdir()
    (backups / "old.dump").touch()
    os.utime(backups / "old.dump", times=(0, 0))

    result = run_daily_work(tmp_path, FAILS="pg_dump")

    assert result.returncode == 1
    assert (backups / "old.dump").exists()
    assert "manage.py" not in result.stdout


def test_the_documented_preparation_gives_nginx_the_names_of_the_containers(tmp_path):
    prepared_clone(tmp_path)
    example = (ROOT / "docs/examples/bookmarks_service.conf").read_text()
    conf = (tmp_path / "nginx.conf").read_text()

    containers = {"127.0.0.1:8000": "service:8000", "127.0.0.1:8001": "bulk:8000"}
    addresses = re.findall(r"server (\S+:\d+)", example)
    assert re.findall(r"server (\S+:\d+) resolve;", conf) == [
        containers[address] for address in addresses
    ]
    assert conf.startswith("resolver 127.0.0.11 valid=1s;\n")


class Containers:
    """A clone whose containers run, under a project name and a port of its
    own.
    """

    def __init__(self, folder):
        self.folder = folder
        self.port = free_port()
        prepared_clone(folder)
        compose = (folder / "compose.yaml").read_text()
        ports = '"0.0.0.0:80:80", "0.0.0.0:443:443"'
        compose = compose.replace(ports, f'"127.0.0.1:{self.port}:443"')
        (folder / "compose.yaml").write_text(compose)
        version = re.search("VERSION=(.*)", (folder / ".env").read_text())[1]
        self.image = f"bookmarks-service:{version}"
        self.variables = {**os.environ, "COMPOSE_PROJECT_NAME": f"test-{version}"}
        self.certificates = ssl.create_default_context(cafile=folder / "tls.pem")

    def run(self, command):
        return run(command, self.folder, env=self.variables)

    def status(self, path="/v1/bookmarks"):
        """Return the status of a response, or None without one."""
        address = f"https://localhost:{self.port}{path}"
        with suppress(httpx.TransportError):
            return httpx.get(address, verify=self.certificates).status_code


@pytest.fixture(scope="module")
def containers(tmp_path_factory):
    """Follow the document up to the first call, but without an operator."""
    if run_program("sh", "-c", "docker compose version && docker info").returncode:
        pytest.skip("No Docker daemon answers, or there is no Docker Compose.")
    containers = Containers(tmp_path_factory.mktemp("containers"))
    start = re.sub(".*createsuperuser\n", "", documented("createsuperuser"))
    start = start.replace("https://localhost/", f"https://localhost:{containers.port}/")
    try:
        printed = containers.run(start)
        containers.first_call = json.loads(printed.splitlines()[-1])
        yield containers
    finally:
        containers.run("docker compose down --volumes --timeout 1")
        run_program("docker", "image", "rm", containers.image)


def test_the_documented_containers_serve_calls_and_exports(containers):
    assert containers.first_call["new_user_group"] is True
    assert containers.status("/v1/export") == 401  # without a token
    assert '"path": "/v1/export"' in containers.run("docker compose logs bulk")
    assert '"path": "/v1/export"' not in containers.run("docker compose logs service")


def test_an_invalid_setting_ends_a_container_with_one_line(containers):
    result = run_program("docker", "run", "--rm", containers.image)

    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr.startswith("Set SECRET_KEY to a long random string")


def test_the_documented_backup_is_restored(containers):
    manage = "docker compose exec -T service python manage.py"
    psql = "docker compose exec -T postgres psql --username=bookmarks --tuples-only"
    containers.run("sh docs/examples/containers_daily.sh")
    [backup] = (containers.folder.parent / "bookmarks_service_backups").iterdir()
    containers.run(f"{manage} create_api_token --team Later --create-team")

    for word in ("pg_restore", "RENAME"):
        containers.run(documented(word).replace("<FILE>", f"'{backup}'"))

    query = "SELECT name FROM usergroups_team"
    teams = containers.run(f"{psql} --no-align --command='{query}'")
    assert teams == "Example\n"
    wait_until(lambda: containers.status("/readyz") == 200)
