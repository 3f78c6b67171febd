"""The first steps: the command quickstart with what it prints, and the script
in docs/api.md.
"""

import json
import os
import re
import socket
import stat
import subprocess
import sys

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from bookmarks.models import AccessToken, Collection
from bookmarks_service.management.commands import quickstart as quickstart_command
from tests.bookmarks_service.service import manage
from tests.documents import ROOT, blocks, section
from tests.servers import TIMEOUT, run_program
from usergroups.models import ApiToken, Team, UserGroup

pytestmark = [pytest.mark.database_independent, pytest.mark.django_db]


def quickstart(capsys):
    call_command("quickstart", "--no-serve", "--port", "8123")
    return capsys.readouterr().out


def test_running_quickstart_again_restores_the_operator_and_replaces_the_secrets(
    capsys, client, django_user_model, settings
):
    settings.DEBUG = True
    first = quickstart(capsys)
    django_user_model.objects.update(is_superuser=False, is_active=False)

    second = quickstart(capsys)

    assert "Open the admin at http://127.0.0.1:8123/admin/" in second
    password = re.search(r"password (\S+)\)", second)[1]
    form = {"username": "operator", "password": password}
    assert client.post("/admin/login/", form).status_code == 302
    assert django_user_model.objects.get().is_superuser
    counts = [model.objects.count() for model in (Team, UserGroup, Collection)]
    assert counts == [1, 1, 1]
    for manager, pattern in (
        (ApiToken.objects, r"uga_\w+"),
        (AccessToken.objects, r"bma_\w+"),
    ):
        assert not manager.with_secret(re.search(pattern, first)[0]).is_active
        assert manager.with_secret(re.search(pattern, second)[0]).is_active


def test_an_account_of_another_database_is_not_taken_over(capsys, django_user_model):
    operator = django_user_model.objects.create_user("operator")

    with pytest.raises(CommandError, match="The database has accounts"):
        quickstart(capsys)

    operator.refresh_from_db()
    assert not operator.is_superuser
    assert not Team.objects.exists()


def test_the_file_of_quickstart_is_used_again(
    capsys, django_user_model, settings, monkeypatch
):
    django_user_model.objects.create_user("operator")
    name = settings.DATABASES["default"]["NAME"]
    monkeypatch.setattr(quickstart_command, "OWN_FILE", name)

    quickstart(capsys)

    assert django_user_model.objects.get().is_superuser


def test_a_port_in_use_is_reported_before_anything_is_created():
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        with pytest.raises(CommandError, match="Choose another port with --port"):
            call_command("quickstart", "--port", str(server.getsockname()[1]))

    assert not Team.objects.exists()


def test_only_its_user_can_read_the_database_of_a_demo(tmp_path):
    path = tmp_path / "db.sqlite3"
    result = manage("quickstart", "--no-serve", DATABASE_URL=f"sqlite:///{path}")

    assert result.returncode == 0, result.stderr
    # SQLite gives the write-ahead log the same mode.
    modes = [stat.S_IMODE(file.stat().st_mode) for file in tmp_path.iterdir()]
    assert set(modes) == {0o600}


def test_a_closed_pipe_causes_no_traceback_and_revokes_no_secret(service):
    reading, writing = os.pipe()
    os.close(reading)
    with open(writing, "wb") as pipe:
        result = subprocess.run(
            [sys.executable, "manage.py", "quickstart", "--no-serve"],
            cwd=ROOT,
            env={**service.environment(), "DEBUG": "1"},
            stdout=pipe,
            stderr=subprocess.PIPE,
            timeout=TIMEOUT,
            check=False,
        )

    assert result.returncode == 1
    assert result.stderr == b"CommandError: [Errno 32] Broken pipe.\n"
    # The secrets of the last quickstart are still valid.
    assert service.update_user_group().status_code == 200


# Over HTTP


def run_shell(script, service, **variables):
    """Run a script in the environment of the service, and return its status
    and the answers that it prints.
    """
    shell = ["bash", "-euo", "pipefail", "-c"]
    variables = {**service.environment(), **variables}
    result = run_program(*shell, script, cwd=ROOT, env=variables)
    return result.returncode, [json.loads(each) for each in result.stdout.splitlines()]


def test_the_printed_curl_commands_work(service):
    assert len(service.curls) == 2
    for command in service.curls:
        _, [answer] = run_shell(f"{command} -sS", service)
        assert answer["success"] == 1, answer


def test_the_documented_script_makes_and_reads_a_bookmark_and_can_be_repeated(service):
    heading = "From an empty database to the first bookmark"
    [script] = blocks(section("api", heading), "sh")
    for documented, actual in (
        (".venv/bin/python", sys.executable),
        ("http://127.0.0.1:8000", service.base_url),
        ("sqlite:///$PWD/db.sqlite3", service.database_url),
    ):
        assert documented in script
        script = script.replace(documented, actual)
    calls = "sh docs/examples/first_calls.sh\n"
    assert script.endswith(calls)

    _, answers = run_shell(script + calls, service)

    group, created, listed = answers[:3]
    assert group["new_user_group"] is True
    assert created["user_group"] == group["user_group"]
    [item] = listed["bookmarks"]
    assert item == {**created["bookmark"], "etag": item["etag"]}
    assert created["bookmark"]["title"] == "Example"
    assert answers[3:] == [{**group, "new_user_group": False}, created, listed]


def test_the_first_calls_fail_with_the_answer_of_the_service(service):
    variables = {"BASE_URL": service.base_url, "API_TOKEN": "wrong"}

    status, [answer] = run_shell(
        "sh docs/examples/first_calls.sh", service, **variables
    )

    assert status == 22  # curl's status for an HTTP error
    assert answer["errors"][0]["code"] == "authentication_failed"
