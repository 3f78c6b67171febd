"""Commands that are interrupted, or whose output or database fails, end in one line and leave nothing half done."""

import os
import signal
import subprocess
import sys
from contextlib import suppress

import pytest
from django.core.management import CommandError, call_command, get_commands
from django.db import OperationalError

from bookmarks.models import AccessToken, Collection
from tests.bookmarks_service.service import ROOT, environment, manage
from tests.servers import TIMEOUT
from tests.usergroups.factories import UserGroupFactory
from usergroups.management.commands import create_api_token
from usergroups.models import ApiToken, Team

GROUP = ["--team", "Acme", "--user-group", "example_1"]


@pytest.fixture
def user_group(db):
    return UserGroupFactory(team__name="Acme", provided_id="example_1")


WRITING = [
    ["create_api_token", "--team", "Acme"],
    ["create_api_token", "--team", "New", "--create-team"],
    ["create_access_token", *GROUP],
    ["quickstart", "--no-serve"],
]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")
@pytest.mark.usefixtures("user_group")
@pytest.mark.parametrize("command", WRITING, ids=" ".join)
def test_nothing_is_created_if_the_output_cannot_be_written(command, capsys):
    if command[0] not in get_commands():
        pytest.skip("the project has no such command")
    with open("/dev/full", "w") as full:
        with pytest.raises(CommandError) as error:
            call_command(*command, stdout=full)
        with pytest.raises(OSError, match="No space left"):
            full.close()

    assert (str(error.value), error.value.returncode) == ("Standard output: No space left on device.", 1)
    assert [team.name for team in Team.objects.all()] == ["Acme"]
    assert [model.objects.count() for model in (ApiToken, AccessToken, Collection)] == [0, 0, 0]
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("error", "message", "status"),
    [
        (KeyboardInterrupt(), "Interrupted.", 130),
        (OperationalError("database or disk is full"), "The database failed: database or disk is full.", 1),
        (OperationalError("connection lost.\nDETAIL: A secret."), "The database failed: connection lost.", 1),
        (OSError(5, "Input/output error", "a.csv"), "a.csv: Input/output error.", 1),
    ],
    ids=["interrupt", "disk", "database", "file"],
)
def test_a_failure_of_any_kind_is_one_line(db, monkeypatch, error, message, status):
    def fail(name):
        raise error

    monkeypatch.setattr(create_api_token, "create_team", fail)

    with pytest.raises(CommandError) as raised:
        call_command("create_api_token", "--team", "Acme", "--create-team")

    assert (str(raised.value), raised.value.returncode) == (message, status)


# Processes


@pytest.fixture(scope="module")
def variables(tmp_path_factory):
    """The environment of commands, with a database that ``quickstart`` has filled."""
    file = tmp_path_factory.mktemp("endings") / "db.sqlite3"
    variables = {"DATABASE_URL": f"sqlite:///{file}"}
    assert manage("quickstart", "--no-serve", **variables).returncode == 0
    return variables


def react_to_ctrl_c():
    """Undo what a shell does to jobs in the background, and with it to these tests."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def start(*command, **options):
    variables = environment(**options.pop("variables"))
    command = [sys.executable, "manage.py", *command]
    return subprocess.Popen(
        command, cwd=ROOT, env=variables, text=True, stderr=subprocess.PIPE, **options,
        preexec_fn=react_to_ctrl_c,  # noqa: PLW1509  # The tests have no other threads.
    )  # fmt: skip


def ending(process):
    """Wait until a process ends, and return its exit status and standard error."""
    _, err = process.communicate(timeout=TIMEOUT)
    return process.returncode, err


@pytest.mark.once
def test_a_reader_that_leaves_causes_no_traceback(variables):
    reading, writing = os.pipe()
    os.close(reading)
    with open(writing, "wb") as pipe:
        process = start("create_api_token", "--team", "Demo", stdout=pipe, variables=variables)

    assert ending(process) == (1, "CommandError: Standard output: Broken pipe.\n")


@pytest.mark.once
@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("create_api_token --team Demo >&-", "Standard output is closed.\n"),
        (
            "import_bookmarks - --format jsonl --team Demo --user-group example_1 <&-",
            "CommandError: Standard input is closed.\n",
        ),
    ],
)
def test_a_closed_descriptor_is_one_line(variables, command, message):
    result = subprocess.run(
        ["sh", "-c", f"{sys.executable} manage.py {command}"],
        cwd=ROOT, env=environment(**variables), capture_output=True, text=True, timeout=TIMEOUT, check=False,
    )  # fmt: skip

    assert (result.returncode, result.stderr, result.stdout) == (1, message, "")


@pytest.mark.once
@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_interrupts_a_command(variables, tmp_path, sent):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    command = ["import_bookmarks", str(pipe), "--format", "jsonl", "--team", "Demo", "--user-group", "example_1"]
    process = start(*command, stdout=subprocess.PIPE, variables=variables)
    with pipe.open("wb"):  # waits until the command opens it
        while process.poll() is None:  # A signal just before a read does not interrupt it, and is handled afterwards.
            process.send_signal(sent)
            with suppress(subprocess.TimeoutExpired):
                process.wait(5)
        status, err = ending(process)

    assert status == 130
    assert err == (
        "CommandError: Interrupted. Run the command again to import the rest. "
        "Result so far: 0 created, 0 already existed, 0 refused.\n"
    )
