"""The catalogs of translations have exactly the texts that are marked, and all
of them are translated.
"""

import gettext
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import django.conf
import pytest
from django.apps import apps

from tests.documents import ROOT, section
from tests.programs import needs

APPS = ("usergroups", "bookmarks", "bookmarks_service")
[MAKEMESSAGES] = re.findall(
    r"manage\.py makemessages .*", section("CONTRIBUTING", "Languages")
)
CATALOG = "locale/de/LC_MESSAGES/django.po"

pytestmark = [pytest.mark.database_independent, needs("msgfmt")]


def run(*command, cwd=ROOT):
    environment = {"DEBUG": "1", "PATH": os.environ["PATH"]}
    return subprocess.run(
        command, cwd=cwd, env=environment, capture_output=True, text=True, check=True
    )


def without_date(text):
    return re.sub(r'^"POT-Creation-Date: .*\n', "", text, flags=re.MULTILINE)


@pytest.fixture(scope="module")
def remade(tmp_path_factory):
    """Return a folder with a copy of the sources, in which ``makemessages``
    has updated the catalogs.
    """
    folder = tmp_path_factory.mktemp("sources")
    for name in ("usergroups", "bookmarks", "bookmarks_service", "templates"):
        shutil.copytree(
            ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__")
        )
    shutil.copy(ROOT / "manage.py", folder)
    run(sys.executable, *MAKEMESSAGES.split(), cwd=folder)
    return folder


@pytest.mark.parametrize("app", APPS)
def test_a_catalog_has_exactly_the_marked_texts(remade, app):
    remade_text = (remade / app / CATALOG).read_text()
    text = (ROOT / app / CATALOG).read_text()

    assert without_date(remade_text) == without_date(text)


@pytest.mark.parametrize("app", APPS)
def test_a_catalog_is_complete_and_compiled(tmp_path, app):
    path = ROOT / app / CATALOG
    compiled = tmp_path / "django.mo"

    result = run("msgfmt", "--check", "--statistics", "-o", compiled, path)

    assert re.fullmatch(r"\d+ translated messages\.\n", result.stderr)
    expected = run("msgunfmt", compiled).stdout
    stored = run("msgunfmt", path.with_suffix(".mo")).stdout
    assert without_date(stored) == without_date(expected)


def texts_of(folder):
    """Return the translations in the German catalog of an app's folder, by
    message, or none if the app has no such catalog.
    """
    catalog = gettext.translation("django", folder / "locale", ["de"], fallback=True)
    return getattr(catalog, "_catalog", {})


@pytest.mark.parametrize("app", APPS)
def test_a_catalog_agrees_with_those_of_django(app):
    """Django merges all catalogs, so a text that several of them have must
    have the same translation.
    """
    ours = texts_of(ROOT / app)
    configs = apps.get_app_configs()
    folders = [Path(each.path) for each in configs if each.name not in APPS]
    others = [texts_of(folder) for folder in (*folders, Path(django.conf.__path__[0]))]

    for other in others:
        # The message "" is the header of a catalog. Django calls the history of
        # an object its "Geschichte".
        for text in (ours.keys() & other.keys()) - {"", "History"}:
            assert ours[text] == other[text]
    # so that the test fails if it does not find the catalogs of Django
    assert sum(map(len, others)) > 500
