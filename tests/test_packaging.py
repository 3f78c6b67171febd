"""The package of the apps, without the service."""

import re
import subprocess
import sys
import zipfile
from importlib.metadata import requires

import pytest
from drf_spectacular.generators import SchemaGenerator
from packaging.requirements import Requirement

from tests.documents import ROOT, section
from usergroups import __version__

pytestmark = pytest.mark.database_independent


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel"]
    subprocess.run(
        [*command, "--directory", folder], cwd=ROOT, check=True, capture_output=True
    )
    [path] = folder.glob("*.whl")
    return path


def test_the_version_is_the_newest_one_in_the_changelog(wheel):
    changelog = (ROOT / "CHANGELOG.md").read_text()
    newest, *_ = re.findall(r"^## \[(\d.*)\]", changelog, re.MULTILINE)
    document = SchemaGenerator().get_schema(public=True)

    assert wheel.name.split("-")[1] == __version__ == newest
    assert document["info"]["version"] == newest


def test_the_wheel_contains_exactly_the_apps(wheel):
    installed = {
        name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name
    }

    assert installed == {
        str(path.relative_to(ROOT))
        for app in ("usergroups", "bookmarks")
        for path in (ROOT / app).rglob("*")
        if path.is_file() and path.suffix != ".pyc"
    }


def test_the_lower_bounds_of_the_apps_are_documented():
    # The page writes can_ada.
    documented = " ".join(section("plug-in", "Requirements").replace("_", "-").split())
    for requirement in map(Requirement, requires("django-usergroups-bookmarks")):
        # Requirements with a marker belong to the extras. The versions of Django
        # are on another page.
        if not requirement.marker and requirement.name != "django":
            bound = str(requirement.specifier).partition(">=")[2]
            assert f"{requirement.name} {bound}" in documented
