"""The versions that the apps are tested with."""

import itertools
import os
import platform
import re
import tomllib
from importlib.metadata import requires, version
from pathlib import Path

import django
import pytest
from packaging.requirements import Requirement
from packaging.version import Version

ROOT = Path(__file__).parent.parent
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())

ENVIRONMENT = os.environ.get("TOX_ENV_NAME", "")
"""The name of the environment that tox runs, such as ``py311-django52-lowest-sqlite``."""


def digits(dotted):
    return dotted.replace(".", "")


def products():
    """Return the factors of each product of environments: Pythons, Djangos, dependencies and databases."""
    return [entry["product"] for entry in PYPROJECT["tool"]["tox"]["env_list"]]


def bounds(*extras):
    """Return the requirements of the apps and of some extras."""
    parsed = map(Requirement, requires("bookmarks-service"))
    return [each for each in parsed if any(each.marker is None or each.marker.evaluate({"extra": e}) for e in extras)]


@pytest.mark.parametrize(
    ("classifier", "group", "prefix"),
    [("Programming Language :: Python :: 3.", 0, "py3"), ("Framework :: Django :: ", 1, "django")],
)
def test_the_classifiers_name_what_tox_runs(classifier, group, prefix):
    named = {
        prefix + digits(each.removeprefix(classifier))
        for each in PYPROJECT["project"]["classifiers"]
        if each.startswith(classifier)
    }

    assert named == {factor for product in products() for factor in product[group]}


def test_the_bounds_of_python_and_django_are_those_of_the_classifiers():
    supported = [
        Version(each.rpartition(" ")[2])
        for each in PYPROJECT["project"]["classifiers"]
        if each.startswith("Framework :: Django :: ")
    ]
    last = supported[-1].release

    assert f"django>={supported[0]},<{last[0]}.{last[1] + 1}" in PYPROJECT["project"]["dependencies"]
    assert supported == sorted(supported)
    assert PYPROJECT["project"]["requires-python"] == ">=3.11"
    assert products()[0][0] == ["py311"]


def test_the_documented_combinations_are_those_of_tox():
    rows = re.findall(r"^\| (\d\.\d) \| (.*) \|$", (ROOT / "docs" / "CONTRIBUTING.md").read_text(), re.MULTILINE)

    documented = {(f"py{digits(python)}", f"django{digits(row[0])}") for row in rows for python in row[1].split(", ")}
    assert documented == {pair for product in products() for pair in itertools.product(*product[:2])}


def test_continuous_integration_runs_the_two_corners():
    script = (ROOT / ".ci" / "run").read_text()
    pythons = re.search(r"for version in (.*); do$", script, re.MULTILINE)[1].split()
    oldest, newest = products()[0][1], products()[-1][1]

    assert {f"py{digits(each)}" for each in pythons} == {factor for product in products() for factor in product[0]}
    assert f"{oldest[0]}-lowest-sqlite\n" in script
    assert f"{newest[-1]}-newest-postgresql\n" in script


@pytest.mark.skipif(not ENVIRONMENT, reason="runs in the environments of tox")
def test_the_environment_has_the_versions_of_its_name(settings):
    python, django_version, _, database = ENVIRONMENT.split("-")

    assert python == "py" + digits(platform.python_version().rpartition(".")[0])
    assert django_version == "django" + digits(django.__version__[:3])
    assert settings.DATABASES["default"]["ENGINE"] == f"django.db.backends.{database.replace('sqlite', 'sqlite3')}"


@pytest.mark.skipif("-lowest-" not in ENVIRONMENT, reason="runs in tox's environments with the lowest dependencies")
def test_the_lowest_environment_has_the_lower_bounds():
    lowest = {
        each.name: Version(re.search(r">=([\d.]+)", str(each.specifier))[1])
        for each in bounds("service", "postgres", "test")
        if each.name != "django"
    }

    assert {name: Version(version(name)) for name in lowest} == lowest
