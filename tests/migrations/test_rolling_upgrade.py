"""The previous release serves while the migrations of this one run, and until the reload."""

import re
import shutil
import signal
import subprocess
import sys
import threading
from contextlib import closing

import pytest
from django.db import connection

from tests.bookmarks_service.service import ROOT, Service, empty_database, environment, manage
from tests.bookmarks_service.test_nothing_is_lost import Load
from tests.migrations.conftest import RELEASED
from tests.servers import TIMEOUT, wait_until
from tests.test_docs import page

LATER = [
    path.relative_to(ROOT)
    for app, name in RELEASED
    for path in (ROOT / app / "migrations").glob("0*.py")
    if path.stem > name
]
"""The migrations since release 1.0.0."""

pytestmark = [
    pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has one writer at a time"),
    pytest.mark.skipif(not LATER, reason="there are no migrations since the release"),
]

TOKEN = "id, name, digest, hint, read_only, created_at, expires_at, revoked_at, rotated_at, last_used_at"
GROUP = "id, team_id, environment, provided_id, name, token, mapping, properties, created_at, updated_at"
BOOKMARK = "id, user_group_id, collection_id, url, url_digest, title, created_at"
STATEMENTS = [
    f"SELECT {TOKEN}, team_id, environment, t.* FROM usergroups_apitoken JOIN (SELECT id AS team, "
    "name AS team_name FROM usergroups_team) t ON team_id = team WHERE digest = sha256('{caller}')",
    "UPDATE usergroups_apitoken SET last_used_at = now() WHERE id IN (SELECT id FROM usergroups_apitoken WHERE id = {caller} "
    "FOR NO KEY UPDATE SKIP LOCKED)",
    f"UPDATE usergroups_usergroup SET name = 'x', updated_at = now() WHERE id = {{caller}}; "
    f"SELECT {GROUP} FROM usergroups_usergroup WHERE team_id = {{caller}} AND environment = '' AND provided_id = 'group_{{caller}}'",
    "INSERT INTO usergroups_usergroup (team_id, environment, provided_id, name, token, mapping, "
    "properties, created_at, updated_at) VALUES ({caller}, '', {new}, 'x', {new}, '{{}}', NULL, now(), now())",
    f"SELECT {TOKEN}, user_group_id, g.* FROM bookmarks_accesstoken JOIN (SELECT id AS group_id, team_id, "
    "token, mapping FROM usergroups_usergroup) g ON user_group_id = group_id WHERE digest = sha256('{caller}')",
    f"INSERT INTO bookmarks_bookmark ({BOOKMARK}) "
    "VALUES (gen_random_uuid(), {caller}, lpad('{caller}', 32, '0')::uuid, {new}, sha256({new}::bytea), '', now())",
    "INSERT INTO bookmarks_collection (id, user_group_id, name, created_at) "
    "VALUES (gen_random_uuid(), {caller}, {new}, now())",
    f"SELECT {BOOKMARK}, c.* FROM bookmarks_bookmark LEFT JOIN (SELECT id AS collection, name "
    "FROM bookmarks_collection) c ON collection_id = collection WHERE user_group_id = {caller} ORDER BY created_at DESC, id",
    "UPDATE bookmarks_bookmark SET title = 'x' WHERE user_group_id = {caller}; "
    "DELETE FROM bookmarks_bookmark WHERE user_group_id = {caller} AND url LIKE {new}",
]
"""The statements of the calls of release 1.0.0. ``{caller}`` is the number of the caller, ``{new}`` a new text."""

UPGRADES = page("deploy").partition("## Upgrades\n")[2].partition("\n## ")[0]
[COMMAND] = re.findall(r"^ +(PGOPTIONS=.* migrate)$", UPGRADES, re.MULTILINE)


class Callers:
    """Run the statements of the release on several connections until the block ends."""

    def __init__(self, database, count=3):
        self.database, self.rounds, self.failures = database, 0, []
        self.stopped = threading.Event()
        self.threads = [threading.Thread(target=self.run, args=(n,)) for n in range(1, count + 1)]

    def run(self, number):
        with closing(self.database.copy()) as own, own.cursor() as cursor:
            cursor.execute("SET lock_timeout = '10s'")  # as on the connections of the server
            while not self.stopped.is_set():
                for position, statement in enumerate(STATEMENTS):
                    try:
                        cursor.execute(statement.format(caller=number, new=f"'{number}-{self.rounds}-{position}'"))
                    except Exception as error:
                        self.failures.append(error)
                        return
                self.rounds += 1

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        self.wait_for(10)
        return self

    def wait_for(self, rounds):
        goal = self.rounds + rounds
        wait_until(lambda: self.rounds >= goal or self.failures)

    def __exit__(self, *exc_info):
        self.stopped.set()
        for thread in self.threads:
            thread.join(timeout=TIMEOUT)


def run_documented_command(database):
    """Run the command for upgrades in docs/deploy.md with this database."""
    settings = database.settings_dict
    url = f"postgres://{settings['USER']}:{settings['PASSWORD']}@{settings['HOST']}:{settings['PORT'] or 5432}/"
    command = COMMAND.replace(".venv/bin/python", sys.executable)
    return subprocess.run(
        ["bash", "-c", command], cwd=ROOT, env=environment(DATABASE_URL=url + settings["NAME"]),
        capture_output=True, text=True, timeout=TIMEOUT, check=False,
    )  # fmt: skip


def test_the_previous_release_is_not_held_up_by_the_documented_command(released_database):
    with Callers(released_database) as callers:
        with closing(released_database.copy()) as other, other.cursor() as cursor:
            other.set_autocommit(False)
            cursor.execute("SELECT count(*) FROM bookmarks_bookmark")  # an export, for example
            refused = run_documented_command(released_database)
            callers.wait_for(10)
            other.rollback()
        applied = run_documented_command(released_database)
        callers.wait_for(10)

    assert "canceling statement due to lock timeout" in refused.stderr
    assert applied.returncode == 0, applied.stderr
    assert callers.failures == []


def git(*args):
    return subprocess.run(["git", *args], cwd=ROOT, capture_output=True, check=False).stdout


@pytest.fixture
def previous_release(tmp_path):
    """Return a folder with the last version of the code that had only the migrations of release 1.0.0."""
    commits = git("log", "--diff-filter=A", "--format=%H", "--", *LATER).decode().split()
    if not commits or not git("rev-parse", "--verify", f"{commits[-1]}^"):
        pytest.skip("the history of the repository has no earlier migrations")
    folder = tmp_path / "code"
    folder.mkdir()
    subprocess.run(["tar", "x", "-C", folder], input=git("archive", f"{commits[-1]}^"), check=True)
    return folder


def wait_for(load, count):
    """Wait until this number of further calls is acknowledged, or until one fails."""
    goal = len(load.acknowledged) + count
    wait_until(lambda: len(load.acknowledged) >= goal or load.refused or load.broken)


def test_an_upgrade_drops_no_call(previous_release, tmp_path):
    with empty_database(tmp_path) as database_url:
        service = Service(tmp_path, database_url)
        service.root = previous_release
        with service, Load(service) as load:
            wait_for(load, 20)
            applied = manage("migrate", DATABASE_URL=database_url)
            wait_for(load, 20)

            for package in ("usergroups", "bookmarks", "bookmarks_service", "templates"):
                shutil.rmtree(previous_release / package)
                shutil.copytree(ROOT / package, previous_release / package)
            before = set(service.worker_pids())
            service.process.send_signal(signal.SIGHUP)
            wait_until(lambda: before.isdisjoint(service.worker_pids()))
            wait_for(load, 20)
            load.stop()

            assert applied.returncode == 0, applied.stderr
            assert "updated_at" in service.create_bookmark(url="https://example.com/new").json()["bookmark"]
            assert (load.broken, load.refused) == ([], set())
