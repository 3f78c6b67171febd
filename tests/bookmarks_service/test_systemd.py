"""The unit and the scripts in docs/examples, without a running systemd."""

import os
import re
import subprocess
import sys

import pytest

from tests.bookmarks_service.service import environment
from tests.documents import ROOT, section
from tests.programs import needs
from tests.servers import TIMEOUT

EXAMPLES = ROOT / "docs/examples"
UNIT = (EXAMPLES / "bookmarks_service@.service").read_text()
ADDITION = (EXAMPLES / "bookmarks_service@bulk.conf").read_text()
INSTANCES = ("web", "bulk")
SCRIPTS = ("bookmarks_service-manage", "first_calls.sh", "upgrade.sh")

pytestmark = pytest.mark.database_independent


def variables_of(name):
    text = (EXAMPLES / name).read_text()
    return dict(re.findall(r"^(\w+)=(.*)$", text, re.MULTILINE))


def write_program(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


# The unit


@needs("systemd-analyze")
def test_the_unit_is_hardened(tmp_path):
    unit = tmp_path / "bookmarks_service@web.service"
    unit.write_text(UNIT)
    # The exposure is a number from 0 (best) to 10, here times ten.
    result = subprocess.run(
        ["systemd-analyze", "security", "--offline=yes", "--threshold=15", unit],
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        check=False,
    )

    assert result.returncode == 0, result.stdout + result.stderr


@needs("systemd-analyze")
def test_systemd_knows_every_line_of_the_unit(tmp_path):
    unit = tmp_path / "bookmarks_service@bulk.service"
    # The programs of the unit need not be installed on this machine.
    unit.write_text(re.sub(r"^(Exec\w+)=.*", r"\1=/bin/true", UNIT, flags=re.MULTILINE))
    addition = tmp_path / f"{unit.name}.d/cpu.conf"
    addition.parent.mkdir()
    addition.write_text(ADDITION)
    result = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", unit],
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        check=False,
    )

    assert str(tmp_path) not in result.stderr


def test_the_files_of_the_unit_are_documented_and_differ_in_port_and_workers():
    files = re.findall(r"^EnvironmentFile=/etc/(.*)$", UNIT, re.MULTILINE)
    commands = section("deploy", "Steps")

    assert files == ["bookmarks_service.env", "bookmarks_service.%i.env"]
    shared = variables_of("bookmarks_service.env")
    for instance in INSTANCES:
        name = f"bookmarks_service.{instance}.env"
        variables = variables_of(name)
        assert variables.keys() == {"GRANIAN_PORT", "GRANIAN_WORKERS"}
        assert not variables.keys() & shared.keys()
        assert f" docs/examples/{name} " in commands
        assert f" bookmarks_service@{instance}" in commands
    assert " docs/examples/bookmarks_service@bulk.conf " in commands
    assert "/etc/systemd/system/bookmarks_service@bulk.service.d/" in commands


def test_a_stop_has_time_for_a_reload_and_for_requests():
    options = variables_of("bookmarks_service.env")
    [timeout] = re.findall(r"^TimeoutStopSec=(\d+)$", UNIT, re.MULTILINE)
    interval = options["GRANIAN_RESPAWN_INTERVAL"]
    # A reload replaces up to six processes, one after the other. Granian then
    # notices the stop within 30 seconds.
    reload = 6 * int(interval) + 30
    requests = int(options["GRANIAN_WORKERS_KILL_TIMEOUT"])

    assert int(timeout) >= reload + requests
    assert f"every {interval} seconds" in section("deploy", "The server")


def test_a_process_that_starts_ends_at_sigterm():
    """Granian starts it with a handler that does nothing in it."""
    code = (
        "import signal\n"
        "signal.signal(signal.SIGTERM, lambda *args: None)\n"
        "import bookmarks_service.wsgi\n"
        "assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL\n"
    )
    subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env=environment(DEBUG="1"),
        timeout=TIMEOUT,
        check=True,
    )


# The scripts


@pytest.mark.parametrize("name", SCRIPTS)
def test_the_shell_can_parse_the_scripts(name):
    subprocess.run(["sh", "-n", EXAMPLES / name], timeout=TIMEOUT, check=True)


def run_manage(folder, *arguments, status=0, **variables):
    """Run bookmarks_service-manage with a systemd-run that prints its
    arguments.
    """
    write_program(folder / "systemd-run", f"printf '%s\\n' \"$@\"\nexit {status}")
    path = f"{folder}:{os.environ['PATH']}"
    result = subprocess.run(
        [EXAMPLES / "bookmarks_service-manage", *arguments],
        env={"PATH": path, **variables},
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        check=False,
    )
    assert result.returncode == status
    return result.stdout.splitlines()


def test_commands_run_like_the_service(tmp_path):
    printed = run_manage(tmp_path, "create_api_token", "--team", "A team")

    properties = re.findall(r"^--property=(.*)$", "\n".join(printed), re.MULTILINE)
    only_commands = {
        "EnvironmentFile=-/etc/bookmarks_service.commands.env",
        "KillSignal=SIGINT",
    }
    assert only_commands < set(properties)
    assert set(properties) - only_commands <= set(UNIT.splitlines())
    assert printed[-5:] == [
        "/srv/bookmarks_service/.venv/bin/python",
        "manage.py",
        "create_api_token",
        "--team",
        "A team",
    ]


def test_commands_get_options_of_postgresql_and_another_folder(tmp_path):
    folder = {"BOOKMARKS_SERVICE_FOLDER": "/srv/new"}
    printed = run_manage(tmp_path, "migrate", PGOPTIONS="-c a=b", **folder)

    assert "--setenv=PGOPTIONS" in printed
    assert "--property=WorkingDirectory=/srv/new" in printed
    assert printed[-3:] == ["/srv/new/.venv/bin/python", "manage.py", "migrate"]


def test_the_status_is_that_of_the_command(tmp_path):
    assert run_manage(tmp_path, "check", status=3)


# The upgrade


MIGRATE = """
echo "$BOOKMARKS_SERVICE_FOLDER $PGOPTIONS" >> "$TRIES"
test "$(grep -c . "$TRIES")" -gt "$FAILURES"
"""


class Installation:
    """A clone with two tags, in which programs only write to a log what they
    do.
    """

    def __init__(self, folder):
        self.log = folder / "log"
        self.programs = folder / "programs"
        self.folder = folder / "service"
        origin = folder / "origin"
        self.write_version(origin, "1.0.0")
        self.git("init", "--quiet", origin)
        self.commit(origin, "1.0.0")
        self.git("clone", "--quiet", origin, self.folder)
        self.write_virtual_environment(self.folder)
        self.write_version(origin, "1.1.0")
        self.commit(origin, "1.1.0")
        self.program(
            self.programs / "python3",
            'cp -r "$BOOKMARKS_SERVICE_FOLDER/.venv" .venv',
        )
        for name in ("systemctl", "sleep"):
            self.program(self.programs / name)

    def program(self, path, does=""):
        log = f'echo "$(cat VERSION) {path.name} $*" >> {self.log}'
        write_program(path, f"{log}\n{does}")

    def write_version(self, folder, version):
        folder.mkdir(exist_ok=True)
        (folder / "VERSION").write_text(version)
        self.program(
            folder / "docs/examples/bookmarks_service-manage",
            does=MIGRATE,
        )

    def write_virtual_environment(self, folder):
        for name in ("pip", "python"):
            self.program(folder / ".venv/bin" / name)
        # Its version is the one that was installed last.
        write_program(folder / ".venv/bin/granian", "echo ${GRANIAN:-$(cat VERSION)}")

    def git(self, *arguments):
        subprocess.run(["git", *arguments], check=True, timeout=TIMEOUT)

    def commit(self, folder, tag):
        author = ["-c", "user.name=A", "-c", "user.email=a@b.example"]
        self.git("-C", folder, "add", "--all")
        self.git("-C", folder, *author, "commit", "--quiet", "--message", tag)
        self.git("-C", folder, "tag", tag)

    def upgrade(self, version, failures=0, **variables):
        """Run upgrade.sh. Return its status and what the programs wrote."""
        tries = self.log.with_name("tries")
        tries.write_text("")
        variables |= {
            "BOOKMARKS_SERVICE_FOLDER": str(self.folder),
            "PATH": f"{self.programs}:{os.environ['PATH']}",
            "TRIES": str(tries),
            "FAILURES": str(failures),
        }
        status = subprocess.run(
            ["sh", EXAMPLES / "upgrade.sh", version],
            env={**os.environ, **variables},
            timeout=TIMEOUT,
            check=False,
        ).returncode
        self.tries = tries.read_text().splitlines()
        return status, self.log.read_text().splitlines()


INSTALL = "pip install --quiet -c constraints.txt -e .[service,postgres]"


@pytest.fixture
def installation(tmp_path):
    return Installation(tmp_path)


def test_an_upgrade_migrates_before_the_old_version_is_replaced(installation):
    status, log = installation.upgrade("1.1.0", GRANIAN="2.0")

    assert status == 0
    assert log == [
        "1.1.0 python3 -m venv .venv",
        f"1.1.0 {INSTALL}",
        "1.1.0 bookmarks_service-manage migrate",
        f"1.1.0 {INSTALL}",
        "1.1.0 python manage.py collectstatic --noinput",
        "1.1.0 systemctl reload bookmarks_service@*",
    ]
    new = f"{installation.folder}-1.1.0"
    options = "-c lock_timeout=500ms -c statement_timeout=0"
    assert installation.tries == [f"{new} {options}"]


def test_a_new_granian_is_restarted(installation):
    _, log = installation.upgrade("1.1.0")

    assert log[-1] == "1.1.0 systemctl restart bookmarks_service@*"


def test_an_upgrade_is_undone_by_the_former_version(installation):
    installation.upgrade("1.1.0")
    status, _ = installation.upgrade("1.0.0")

    assert status == 0
    assert (installation.folder / "VERSION").read_text() == "1.0.0"


def test_a_migration_that_gets_no_lock_is_repeated(installation):
    status, log = installation.upgrade("1.1.0", failures=2)

    assert status == 0
    assert log.count("1.1.0 bookmarks_service-manage migrate") == 3
    assert log.count("1.1.0 sleep 1") == 2


def test_nothing_changes_for_the_service_if_the_migration_fails(installation):
    status, log = installation.upgrade("1.1.0", failures=10)

    assert status == 1
    assert log[-1] == "1.1.0 bookmarks_service-manage migrate"
    assert len(installation.tries) == 10
    assert (installation.folder / "VERSION").read_text() == "1.0.0"


def test_the_documented_extras_are_installed(installation):
    extras = "service,postgres,metrics"
    _, log = installation.upgrade("1.1.0", EXTRAS=extras)

    assert log.count(f"1.1.0 {INSTALL.replace('service,postgres', extras)}") == 2
