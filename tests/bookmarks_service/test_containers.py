"""The Dockerfile, compose.yaml, and the steps in docs/deploy.md that use them."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys

import pytest
from compose_spec import PyCompose
from docker.utils import exclude_paths

from tests.bookmarks_service.composed import COMPOSE, PROGRAMS, SERVICES, Composed
from tests.bookmarks_service.image import Image, can_run, copy_context, dockerignore
from tests.bookmarks_service.service import ROOT, documented_options
from tests.servers import TIMEOUT, running_server

pytestmark = pytest.mark.once

SECTION = (ROOT / "docs/deploy.md").read_text().partition("## Containers\n")[2].partition("\n## ")[0]
PREPARE, START, *_ = re.findall(r"^```sh\n(.*?)^```", SECTION, re.DOTALL | re.MULTILINE)


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

    listed = {*re.findall(r"^\| `(\w+)`", table, re.MULTILINE), "GRANIAN_HOST"}
    assert SERVICES["service"]["environment"].keys() <= listed


def test_the_image_has_the_documented_options_of_the_server():
    variables = dict(re.findall(r"(GRANIAN_\w+)=(\S+)", (ROOT / "Dockerfile").read_text()))

    assert variables == {**documented_options(), "GRANIAN_HOST": "0.0.0.0"}


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
    assert {"django", "granian", "psycopg", "psycopg-binary", "redis"} <= names
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


def test_the_preparation_makes_the_files_and_protects_the_secrets(prepared):
    modes = {path.name: path.stat().st_mode & 0o777 for path in prepared.iterdir() if path.is_file()}

    assert modes.keys() == {".env", *host_files()}
    assert modes[".env"] == modes["tls.key"] == 0o600


@pytest.mark.skipif(not all(PROGRAMS), reason="nginx, Redis, PostgreSQL, curl or openssl is not installed")
def test_the_documented_steps_lead_to_a_first_call(image, prepared):
    composed = Composed(image, prepared)
    with composed.running():
        ready = composed.call(*SERVICES["nginx"]["healthcheck"]["test"][1:])
        first_call = composed.call("sh", "-ec", START)

    assert json.loads(ready.stdout) == {"success": 1, "cache": "ok"}
    assert first_call.returncode == 0, first_call.stderr
    assert json.loads(first_call.stdout)["user_group"]["provided_id"] == "example_1"


def test_sigterm_reaches_the_server(image, tmp_path):
    variables = {"SECRET_KEY": "x" * 50, "DATABASE_URL": "sqlite:////tmp/other.sqlite3"}
    with running_server(image.command(**variables), tmp_path / "service.log", image.is_healthy) as process:
        os.kill(image.first_process(process), signal.SIGTERM)

        assert process.wait(timeout=TIMEOUT) == 0
        assert not image.is_healthy()
    assert "Shutting down granian" in (tmp_path / "service.log").read_text()
