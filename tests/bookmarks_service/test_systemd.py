"""The unit and the scripts in docs/examples, without a running systemd."""

import os
import re
import shutil
import socket
import sqlite3
import subprocess
from contextlib import closing

import pytest

from tests.bookmarks_service.service import documented_options, run_python
from tests.documents import ROOT, section
from tests.programs import needs
from tests.servers import TIMEOUT, run_program

EXAMPLES = ROOT / "docs/examples"
UNIT = (EXAMPLES / "bookmarks_service@.service").read_text()
UNITS = {
    "bookmarks_service@web.service": "bookmarks_service@web.conf",
    "bookmarks_service@bulk.service": "bookmarks_service@bulk.conf",
    "bookmarks_service-daily.service": None,
    "bookmarks_service-daily.timer": None,
}
"""The units, with the additions to them."""
pytestmark = pytest.mark.database_independent


def write_program(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


# The unit


def systemd_analyze(*arguments):
    return run_program("systemd-analyze", *arguments)


@needs("systemd-analyze")
def test_the_unit_is_hardened(tmp_path):
    unit = tmp_path / "bookmarks_service@web.service"
    unit.write_text(UNIT)
    # The exposure is a number from 0 (best) to 10, here times ten.
    options = ["security", "--offline=yes", "--threshold=15"]
    result = systemd_analyze(*options, unit)

    assert result.returncode == 0, result.stdout + result.stderr


@needs("systemd-analyze")
@pytest.mark.parametrize("name", UNITS)
def test_systemd_knows_every_line_of_the_units(name, tmp_path):
    unit = tmp_path / name
    text = (EXAMPLES / re.sub("@.*\\.", "@.", name)).read_text()
    # The programs of the unit need not be installed on this machine.
    unit.write_text(re.sub(r"^(Exec\w+)=.*", r"\1=/bin/true", text, flags=re.MULTILINE))
    if UNITS[name]:
        addition = tmp_path / f"{name}.d/addition.conf"
        addition.parent.mkdir()
        addition.write_text((EXAMPLES / UNITS[name]).read_text())
    # A timer needs its service.
    shutil.copy(EXAMPLES / "bookmarks_service-daily.service", tmp_path)

    result = systemd_analyze("verify", "--man=no", unit)

    assert str(unit) not in result.stderr


def test_a_stop_has_time_for_a_reload_and_for_requests():
    options = documented_options()
    [timeout] = re.findall(r"^TimeoutStopSec=(\d+)$", UNIT, re.MULTILINE)
    interval = options["GRANIAN_RESPAWN_INTERVAL"]
    # A reload replaces up to six processes, one after the other. Granian then
    # notices the stop within 30 seconds.
    reload = 6 * int(interval) + 30
    requests = int(options["GRANIAN_WORKERS_KILL_TIMEOUT"])

    assert int(timeout) >= reload + requests
    assert f"every {interval} seconds" in section("deploy", "Restart")


def test_a_process_that_starts_ends_at_sigterm():
    """Granian starts it with a handler that does nothing in it."""
    code = (
        "import signal\n"
        "signal.signal(signal.SIGTERM, lambda *args: None)\n"
        "import bookmarks_service.wsgi\n"
        "assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL\n"
    )
    assert run_python("-c", code, DEBUG="1").returncode == 0


def check_server(**variables):
    return run_python("-m", "bookmarks_service.server_check", **variables)


def test_a_port_in_use_is_refused_before_the_server_starts():
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = str(server.getsockname()[1])
        refused = check_server(GRANIAN_PORT=port)
    accepted = check_server(GRANIAN_PORT=port)

    assert refused.stderr == f"Another server uses port {port}.\n"
    assert (refused.returncode, accepted.returncode) == (1, 0)


def test_an_invalid_option_is_refused_before_the_server_starts():
    result = check_server(GRANIAN_WORKERS="two")

    assert result.stderr.startswith("Invalid value for '--workers': 'two'")
    assert result.returncode == 1


# The scripts


def test_the_shell_can_parse_the_scripts():
    scripts = [each for each in EXAMPLES.iterdir() if each.read_bytes()[:2] == b"#!"]

    assert len(scripts) >= 7
    for script in scripts:
        subprocess.run(["sh", "-n", script], timeout=TIMEOUT, check=True)


def run_manage(folder, *arguments, status=0, **variables):
    """Run bookmarks_service-manage with a systemd-run that prints its
    arguments.
    """
    write_program(folder / "systemd-run", f"printf '%s\\n' \"$@\"\nexit {status}")
    variables["PATH"] = f"{folder}:{os.environ['PATH']}"
    script = EXAMPLES / "bookmarks_service-manage"
    result = run_program(script, *arguments, env=variables)
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
    command = ["/srv/bookmarks_service/.venv/bin/python", "manage.py"]
    assert printed[-5:] == [*command, "create_api_token", "--team", "A team"]


def test_commands_get_options_of_postgresql_and_another_folder(tmp_path):
    folder = {"BOOKMARKS_SERVICE_FOLDER": "/srv/new"}
    printed = run_manage(tmp_path, "migrate", PGOPTIONS="-c a=b", **folder)

    assert "--setenv=PGOPTIONS" in printed
    assert "--property=WorkingDirectory=/srv/new" in printed
    assert printed[-3:] == ["/srv/new/.venv/bin/python", "manage.py", "migrate"]


def script_in(folder, name):
    """Return a copy of a script that uses files in the folder in place of those
    of the machine.
    """
    text = (EXAMPLES / name).read_text()
    text = re.sub(r"(?<![\w.-])/(etc|usr|var)/", rf"{folder}/\1/", text)
    path = folder / "docs/examples" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def run_script(path, *arguments):
    """Run a script with the programs in its folder."""
    return subprocess.run(
        ["sh", path, *arguments],
        env={"PATH": f"{path.parent}:{os.environ['PATH']}"},
        timeout=TIMEOUT,
        check=False,
    ).returncode


@needs("openssl")
def test_files_of_ones_own_are_made_once_and_all_others_are_replaced(tmp_path):
    examples = tmp_path / "docs/examples"
    shutil.copytree(EXAMPLES, examples)
    script = script_in(tmp_path, "install.sh")
    for name in ("systemctl", "sysctl"):
        write_program(examples / name, f"echo {name} $* >> {tmp_path}/log")
    folders = "nginx/conf.d", "sysctl.d", "systemd/system"
    for name in ("usr/local/bin", *[f"etc/{folder}" for folder in folders]):
        (tmp_path / name).mkdir(parents=True)

    assert run_script(script, "a.example") == 0
    settings = tmp_path / "etc/bookmarks_service.env"
    nginx = tmp_path / "etc/nginx/conf.d/bookmarks_service.conf"
    made = {path: path.read_text() for path in (settings, nginx)}
    files = [path for path in (tmp_path / "etc").rglob("*") if path.is_file()]
    copied = {path: path.read_text() for path in files if path not in made}
    for path in files:
        path.write_text("edited")
    assert run_script(script, "b.example") == 0

    assert re.search("^SECRET_KEY=[0-9a-f]{64}$", made[settings], re.MULTILINE)
    assert "ALLOWED_HOSTS=a.example\n" in made[settings]
    assert settings.stat().st_mode & 0o777 == 0o600
    assert "server_name a.example;" in made[nginx]
    assert "/etc/ssl/a.example.key;" in made[nginx]
    assert {path.read_text() for path in made} == {"edited"}
    assert {path: path.read_text() for path in copied} == copied
    assert (tmp_path / "log").read_text().splitlines()[-1] == "systemctl daemon-reload"


@pytest.fixture
def backup(tmp_path):
    """Return the script of backups and its folder, in which one backup is old."""
    folder = tmp_path / "var/backups/bookmarks_service"
    folder.mkdir(parents=True)
    (folder / "old.dump").touch()
    os.utime(folder / "old.dump", times=(0, 0))
    (tmp_path / "etc").mkdir()
    settings = tmp_path / "etc/bookmarks_service.env"
    settings.write_text("DATABASE_URL=postgres://%2Fvar/bookmarks\n")
    return script_in(tmp_path, "bookmarks_service-backup"), folder


def test_a_backup_replaces_old_ones(backup):
    script, folder = backup
    write_program(script.parent / "runuser", "echo $*")

    assert run_script(script) == 0
    [file] = folder.iterdir()
    assert file.read_text() == "-u postgres -- pg_dump --format=custom bookmarks\n"
    assert file.suffix == ".dump"
    assert file.stat().st_mode & 0o777 == 0o600


def test_a_failed_backup_deletes_no_other_and_does_not_look_complete(backup):
    script, folder = backup
    write_program(script.parent / "runuser", "echo a part; exit 1")

    assert run_script(script) == 1
    assert {path.name for path in folder.iterdir()} == {"old.dump", "unfinished"}


@needs("sqlite3")
def test_the_backup_of_sqlite_has_what_is_only_in_the_log(backup, tmp_path):
    script, folder = backup
    database = tmp_path / "var/lib/bookmarks_service/db.sqlite3"
    database.parent.mkdir(parents=True)
    (tmp_path / "etc/bookmarks_service.env").write_text(
        f"DATABASE_URL=sqlite:///{database}\n"
    )
    with closing(sqlite3.connect(database, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = wal")
        connection.execute("CREATE TABLE a (b)")
        assert run_script(script) == 0

    [file] = folder.iterdir()
    with closing(sqlite3.connect(file)) as copy:
        assert copy.execute("SELECT count(*) FROM a").fetchone() == (0,)


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
            self.programs / "python3", 'cp -r "$BOOKMARKS_SERVICE_FOLDER/.venv" .venv'
        )
        for name in ("systemctl", "sleep", "nginx", "bookmarks_service-status"):
            self.program(self.programs / name)

    def program(self, path, does=""):
        log = f'echo "$(cat VERSION) {path.name} $*" >> {self.log}'
        write_program(path, f"{log}\n{does}")

    def write_version(self, folder, version):
        examples = folder / "docs/examples"
        self.program(examples / "bookmarks_service-manage", does=MIGRATE)
        self.program(examples / "install.sh")
        (folder / "VERSION").write_text(version)
        self.write_unit(folder, "")

    def write_unit(self, folder, text):
        (folder / "docs/examples/bookmarks_service@.service").write_text(text)

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
        "1.1.0 install.sh ",
        "1.1.0 systemctl reload bookmarks_service@*",
        "1.1.0 nginx -t -q",
        "1.1.0 systemctl reload nginx",
        "1.1.0 bookmarks_service-status ",
    ]
    new = f"{installation.folder}-1.1.0"
    options = "-c lock_timeout=500ms -c statement_timeout=0"
    assert installation.tries == [f"{new} {options}"]


RESTART = "1.1.0 systemctl restart bookmarks_service@*"


def test_a_new_granian_is_restarted(installation):
    _, log = installation.upgrade("1.1.0")

    assert RESTART in log


def test_new_options_of_the_server_restart_it(installation):
    origin = installation.folder.with_name("origin")
    installation.write_unit(origin, "Environment=GRANIAN_BACKPRESSURE=600\n")
    installation.commit(origin, "1.2.0")

    _, log = installation.upgrade("1.2.0", GRANIAN="2.0")

    assert RESTART in log


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
