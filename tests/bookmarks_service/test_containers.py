"""The Dockerfile and compose.yaml, without building or running them."""

import json
import os
import re
import shutil
import subprocess
import sys

import pytest
import yaml
from compose_spec import PyCompose

from tests.bookmarks_service.service import ROOT, documented_options

pytestmark = pytest.mark.once

COMPOSE = yaml.safe_load((ROOT / "compose.yaml").read_text())
SERVICES = COMPOSE["services"]
SECTION = (ROOT / "docs/deploy.md").read_text().partition("## Containers\n")[2].partition("\n## ")[0]
PREPARE, *_ = re.findall(r"^```sh\n(.*?)^```", SECTION, re.DOTALL | re.MULTILINE)


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


def test_the_secret_files_get_neither_into_the_repository_nor_into_the_image():
    ignored = (ROOT / ".dockerignore").read_text().splitlines()

    assert {".env", *host_files()} <= set((ROOT / ".gitignore").read_text().splitlines())
    assert [line for line in ignored if not line.startswith(("#", "!"))] == ["*", "**/__pycache__"]
    assert {line[1:] for line in ignored if line.startswith("!")} == {
        "LICENSE", "README.md", "bookmarks", "bookmarks_service", "constraints.txt", "manage.py", "pyproject.toml",
        "templates", "usergroups",
    }  # fmt: skip


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
