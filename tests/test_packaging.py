"""The package of the apps."""

import subprocess
import sys
import zipfile

import pytest

from tests.documents import ROOT
from usergroups import __version__

pytestmark = pytest.mark.once


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", folder],
        cwd=ROOT, check=True, capture_output=True,
    )  # fmt: skip
    [path] = folder.glob("*.whl")
    return path


def test_the_version_is_in_the_changelog(wheel):
    changelog = (ROOT / "CHANGELOG.md").read_text()

    assert wheel.name.split("-")[1] == __version__
    assert "## [Unreleased]" in changelog or f"## [{__version__}]" in changelog


def test_the_wheel_contains_exactly_the_apps(wheel):
    installed = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}

    assert installed == {
        str(path.relative_to(ROOT))
        for app in ("usergroups", "bookmarks")
        for path in (ROOT / app).rglob("*")
        if path.is_file() and path.suffix != ".pyc"
    }
