"""The Dockerfile and compose.yaml, without building or running them."""

import json
import re
import shutil
import subprocess

import pytest
import yaml
from compose_spec import PyCompose

from tests.bookmarks_service.service import documented_options
from tests.documents import ROOT, blocks, names, section
from tests.programs import find, needs

pytestmark = pytest.mark.database_independent

COMPOSE = yaml.safe_load((ROOT / "compose.yaml").read_text())
SERVICES = COMPOSE["services"]


def test_the_linter_accepts_the_dockerfile():
    result = subprocess.run([find("hadolint"), "Dockerfile"], cwd=ROOT, capture_output=True, text=True, check=False)

    assert result.returncode == 0, result.stdout


def test_the_compose_file_is_valid():
    PyCompose.from_json(json.dumps(COMPOSE)).validate()


@pytest.mark.parametrize("name", SERVICES)
def test_every_container_is_hardened(name):
    assert SERVICES[name]["read_only"] is True
    assert SERVICES[name]["cap_drop"] == ["ALL"]
    assert SERVICES[name]["security_opt"] == ["no-new-privileges:true"]


def test_the_containers_have_the_documented_options_and_settings():
    options = dict(re.findall(r"(GRANIAN_\w+)=(\S+)", (ROOT / "Dockerfile").read_text()))

    assert options == {**documented_options(), "GRANIAN_HOST": "0.0.0.0"}
    assert SERVICES["service"]["environment"].keys() <= {*names(section("deploy", "Settings")), "GRANIAN_HOST"}


@needs("openssl")
def test_the_documented_preparation_makes_the_files_and_protects_the_secrets(tmp_path):
    prepare, *_ = blocks(section("deploy", "Containers"), "sh")
    shutil.copytree(ROOT / "docs/examples", tmp_path / "docs/examples")
    subprocess.run(["sh", "-ec", prepare], cwd=tmp_path, check=True, capture_output=True)
    modes = {path.name: path.stat().st_mode & 0o777 for path in tmp_path.iterdir() if path.is_file()}

    needed = {".env"} | {volume["source"].removeprefix("./") for volume in SERVICES["nginx"]["volumes"]}
    used = dict(re.findall(r"\$\{(\w+)(.*?)\}", (ROOT / "compose.yaml").read_text()))
    assert modes.keys() == needed
    assert modes[".env"] == modes["tls.key"] == 0o600
    assert used.keys() == {line.partition("=")[0] for line in (tmp_path / ".env").read_text().splitlines()}
    assert all(rest.startswith(":?") for rest in used.values())  # No secret has a default.
    assert needed <= set((ROOT / ".gitignore").read_text().splitlines())  # Git and images do not get these files.
    assert "*" in (ROOT / ".dockerignore").read_text().splitlines()
