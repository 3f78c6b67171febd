"""The package of the apps."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import yaml
from django.conf import settings

from usergroups import __version__

ROOT = Path(__file__).parent.parent

SCRIPT = """
import django
from django.conf import settings
from django.core.management import call_command

settings.configure(
    INSTALLED_APPS=["django.contrib.contenttypes", "django.contrib.auth", "usergroups", "bookmarks"],
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}},
    USE_TZ=True,
)
django.setup()
call_command("migrate", verbosity=0)

import usergroups.urls, bookmarks.urls

print(usergroups.__file__)
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", folder],
        cwd=ROOT, check=True, capture_output=True,
    )  # fmt: skip
    [path] = folder.glob("*.whl")
    return path


def test_the_version_is_the_same_everywhere(wheel):
    assert wheel.name.split("-")[1] == __version__
    assert settings.SPECTACULAR_SETTINGS["VERSION"] == __version__
    changelog = (ROOT / "CHANGELOG.md").read_text()
    assert "## [Unreleased]" in changelog or f"## [{__version__}]" in changelog


def test_the_hooks_run_what_continuous_integration_runs():
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"][0]["hooks"]
    lines = (ROOT / ".ci" / "run").read_text().splitlines()

    assert len(hooks) == 3
    assert {hook["entry"] for hook in hooks} <= set(lines)


def test_the_wheel_contains_exactly_the_apps(wheel):
    names = zipfile.ZipFile(wheel).namelist()

    installed = {name for name in names if ".dist-info/" not in name}
    expected = {
        str(path.relative_to(ROOT))
        for app in ("usergroups", "bookmarks")
        for path in (ROOT / app).rglob("*")
        if path.is_file() and path.suffix != ".pyc"
    }
    assert installed == expected
    for name in ("py.typed", "migrations/0001_initial.py"):
        assert {f"usergroups/{name}", f"bookmarks/{name}"} <= installed
    for name in ("templates/usergroups/admin/tokens_issued.html", "static/usergroups/admin.js"):
        assert f"usergroups/{name}" in installed


def test_the_apps_run_on_their_own_dependencies(wheel):
    """A new process imports the apps from the wheel, without the service."""
    result = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env={"PYTHONPATH": str(wheel), "PATH": ""}, cwd=wheel.parent, capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert result.returncode == 0, result.stderr
    assert str(wheel) in result.stdout
