"""Follow the steps of docs/plug-in.md and docs/customize.md: install the apps in a new project, make
a call, and uninstall them.
"""

import json
import os
import re
import shlex
import site
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import httpx
import pytest

from tests.answers import error_code
from tests.documents import blocks, section
from tests.servers import free_port, listens, run_program, running_server
from tests.test_packaging import wheel  # noqa: F401

pytestmark = pytest.mark.database_independent

INSTALL, START_PROJECT, MIGRATE_AND_CREATE_TOKEN, SERVE, CALL = blocks(
    section("plug-in", "Installation"), "sh"
)


CHANGE_IN_THE_ADMIN = """
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.auth.models import User
from usergroups.models import Team
operator = User.objects.create(username="operator")
LogEntry.objects.log_actions(operator.pk, Team.objects.all(), CHANGE)
"""
IMPORTS = """
from importlib.util import find_spec
assert not find_spec("usergroups") and not find_spec("bookmarks")
"""


class Project:
    """The directory in which the steps of the document are followed."""

    def __init__(self, folder):
        self.folder = folder
        self.settings = folder / "mysite" / "settings.py"
        self.urls = folder / "mysite" / "urls.py"
        # Pass on neither the settings of this test run nor the path of the
        # repository. pip needs no network, because share_dependencies()
        # provides the dependencies.
        self.environment = {
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "PIP_NO_INDEX": "1",
            "PIP_NO_DEPS": "1",
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        }

    def run(self, commands, answers=""):
        """Run shell commands and return what they print."""
        shell = ["bash", "-euo", "pipefail", "-c"]
        options = {"cwd": self.folder, "env": self.environment, "input": answers}
        result = run_program(*shell, commands, **options)
        assert result.returncode == 0, result.stderr
        return result.stdout

    def share_dependencies(self):
        """Make the packages of this test run importable, except an editable
        install of the repository.
        """
        [packages] = self.folder.glob(".venv/lib/python*/site-packages")
        (packages / "dependencies.pth").write_text("\n".join(site.getsitepackages()))

    def extend(self, in_settings, in_urls):
        """Add lines to the settings and to the URLconf."""
        for path, lines in ((self.settings, in_settings), (self.urls, in_urls)):
            path.write_text(path.read_text() + lines)

    def lines_about_the_apps(self):
        """Return the lines of the database's dump that name the apps, their
        models or the team.
        """
        with closing(sqlite3.connect(self.folder / "db.sqlite3")) as connection:
            return [
                line
                for line in connection.iterdump()
                if re.search("usergroup|bookmark|Acme", line)
            ]


@pytest.fixture(scope="module")
def project(tmp_path_factory, wheel):  # noqa: F811
    """Follow the section on the installation up to the start of the server."""
    project = Project(tmp_path_factory.mktemp("project"))

    project.run(INSTALL.replace("<CLONE>", shlex.quote(str(wheel))))
    project.share_dependencies()
    project.run(START_PROJECT)
    project.original = (project.settings.read_text(), project.urls.read_text())
    project.extend(*blocks(section("plug-in", "Installation"), "python"))
    project.secret = project.run(MIGRATE_AND_CREATE_TOKEN).splitlines()[-1]
    return project


@pytest.fixture(scope="module")
def server(project):
    """Run the documented server on a free port, and return its address."""
    port = free_port()
    with running_server(
        [*shlex.split(SERVE), "--noreload", str(port)],
        project.folder / "log",
        lambda: listens(port),
        cwd=project.folder,
        env={**project.environment, "PYTHONUNBUFFERED": "1"},
    ):
        yield f"http://127.0.0.1:{port}"


def test_the_documented_call_has_the_documented_answer(project, server):
    text = section("plug-in", "Installation")
    call = CALL.replace("<API_TOKEN>", project.secret)
    call = call.replace("http://localhost:8000", server)
    [documented] = blocks(text, "json")

    with_status = call.replace("curl", "curl -s -w '\n%{http_code}'", 1)
    answer, status = project.run(with_status).splitlines()

    token = json.loads(answer)["user_group"]["token"]
    expected = documented.replace("<USER_GROUP_TOKEN>", token)
    assert json.loads(answer) == json.loads(expected)
    assert f"The response has the status {status}:" in text


@pytest.mark.parametrize("path", ["/groups", "/groups/api/users/", "/links/unknown"])
def test_unknown_paths_are_answered_in_json(server, path):
    assert error_code(httpx.post(server + path), 404) == "not_found"


def test_the_documented_steps_show_no_warning(project, server):
    log = (project.folder / "log").read_text()

    assert "System check identified no issues" in log


def test_the_documented_steps_to_an_openapi_document_work(project):
    in_settings, in_urls, *_ = blocks(section("customize", "OpenAPI"), "python")
    project.extend(in_settings, in_urls)

    command = ".venv/bin/python manage.py spectacular --validate --fail-on-warn"
    project.run(f"{command} --file=schema.yaml")

    assert "/links/v1/bookmarks:" in (project.folder / "schema.yaml").read_text()


def test_the_documented_steps_leave_nothing_of_the_apps(project):
    """The project runs without the package."""
    uninstallation = section("plug-in", "Uninstall")
    drop, forget_changes, forget, uninstall = blocks(uninstallation, "sh")
    in_settings, in_urls = project.original
    project.run(
        f".venv/bin/python manage.py shell -c {shlex.quote(CHANGE_IN_THE_ADMIN)}"
    )
    assert project.lines_about_the_apps()

    project.run(drop)
    project.run(forget_changes)
    project.settings.write_text(in_settings)
    project.urls.write_text(in_urls)
    project.run(forget, answers="yes\nyes\n")
    project.run(uninstall, answers="y\n")

    assert project.lines_about_the_apps() == []
    project.run(f".venv/bin/python -c {shlex.quote(IMPORTS)}")
    project.run(".venv/bin/python manage.py check")
