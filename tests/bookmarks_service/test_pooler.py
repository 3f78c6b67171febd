"""The service behind PgBouncer in transaction mode, with the configuration and the time limits in docs/deploy.md."""

import json
import re
import subprocess
import sys
from contextlib import ExitStack

import pytest
from django.conf import settings

from tests.bookmarks_service.pooler import PGBOUNCER, POOL_SIZE, Pooler, documented
from tests.bookmarks_service.service import Service, environment, manage
from tests.bookmarks_service.test_nothing_is_lost import Load, stored
from tests.servers import TIMEOUT, wait_until

psycopg = pytest.importorskip("psycopg")
from tests.bookmarks_service.cluster import Cluster, binaries  # noqa: E402

pytestmark = [
    pytest.mark.once,
    pytest.mark.skipif(PGBOUNCER is None, reason="PgBouncer is not installed"),
    pytest.mark.skipif(binaries() is None, reason="there is no PostgreSQL server to be started"),
]

GROUP = ["--team", "Demo", "--user-group", "example_1"]

TRACKED = {"DateStyle", "TimeZone", "application_name", "client_encoding", "standard_conforming_strings"}
"""The settings that PgBouncer keeps for each client, and changes on the connection that the client gets."""


def limits(lock_timeout):
    """Return the documented statements, with another time limit for locks."""
    statements = documented("sql")
    assert statements.count("lock_timeout = '10s'") == 1
    return statements.replace("lock_timeout = '10s'", f"lock_timeout = '{lock_timeout}'")


@pytest.fixture(scope="module")
def cluster():
    with Cluster() as running:
        running.execute("CREATE ROLE bookmarks LOGIN")
        running.execute("CREATE DATABASE bookmarks OWNER bookmarks")
        running.execute(limits("1s"))
        running.database_url = running.url.replace("postgres@", "bookmarks@").replace("/postgres", "/bookmarks")
        yield running


@pytest.fixture(scope="module")
def pooler(cluster):
    with Pooler(cluster.database_url) as running:
        yield running


@pytest.fixture(scope="module")
def service(pooler, tmp_path_factory):
    """The service, which has migrated its database through the pooler."""
    with Service(tmp_path_factory.mktemp("pooler"), pooler.url, GRANIAN_WORKERS="2") as running:
        yield running


def server_connections(connection):
    sql = "SELECT count(*) FROM pg_stat_activity WHERE datname = 'bookmarks' AND pid <> pg_backend_pid()"
    return connection.execute(sql).fetchone()[0]


def exported_urls(file):
    """Return the URLs of the bookmarks. Other lines name empty collections."""
    records = map(json.loads, file.read_text().splitlines())
    return [record["url"] for record in records if "url" in record]


def test_a_load_shares_few_connections_and_an_export_is_complete(service, cluster, tmp_path):
    imported = [f"https://example.com/imported/{n}" for n in range(5000)]
    (tmp_path / "old.csv").write_text("url\n" + "\n".join(imported))
    assert service.manage("import_bookmarks", str(tmp_path / "old.csv"), *GROUP).returncode == 0
    counts = []
    with Load(service, callers=12) as load, cluster.connect() as onlooker:
        wait_until(lambda: counts.append(server_connections(onlooker)) or len(load.acknowledged) > 200)
        before = set(load.acknowledged)
        export = service.manage("export_bookmarks", str(tmp_path / "new.jsonl"), *GROUP)
        load.wait_for(100)
        load.stop()

    urls = exported_urls(tmp_path / "new.jsonl")
    assert (export.returncode, export.stderr) == (0, "")
    assert (load.refused, load.broken) == (set(), [])
    assert 1 < max(counts) <= POOL_SIZE
    assert stored(service) == load.acknowledged | set(imported)
    assert len(urls) == len(set(urls))
    assert before | set(imported) <= set(urls)


def test_a_lock_is_answered_with_503_by_the_limits_of_the_role(service, cluster):
    url = "https://example.com/locked"
    with psycopg.connect(cluster.database_url) as other:
        other.execute("LOCK TABLE bookmarks_bookmark IN ACCESS EXCLUSIVE MODE")
        response = service.create_bookmark(url=url)
        other.rollback()

    assert response.status_code == 503
    assert service.create_bookmark(url=url).status_code == 201


def test_no_request_leaves_anything_in_a_session(service, pooler):
    with Load(service, callers=12) as load:
        load.wait_for(100)
    assert settings_of_the_sessions(pooler.url) == {"lock_timeout=1000, statement_timeout=30000"}


def settings_of_the_sessions(url):
    """Return the settings of all connections of the pool, which have no objects that belong to a session."""
    with ExitStack() as stack:
        # Together, the transactions use all connections of the pool.
        connections = [stack.enter_context(psycopg.connect(url)) for _ in range(POOL_SIZE)]
        found = [session_state(connection) for connection in connections]
    assert len({process for process, _, _ in found}) == POOL_SIZE
    assert {objects for _, _, objects in found} == {0}
    return {changed for _, changed, _ in found}


def session_state(connection):
    """Return the process, the time limits and changed settings, and the number of objects of the session."""
    rows = connection.execute("SELECT name, setting, source FROM pg_settings ORDER BY name").fetchall()
    changed = [
        f"{name}={value}"
        for name, value, source in rows
        if name in ("lock_timeout", "statement_timeout") or (source == "session" and name not in TRACKED)
    ]
    objects = connection.execute(
        "SELECT (SELECT count(*) FROM pg_prepared_statements) + (SELECT count(*) FROM pg_cursors)"
        " + (SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid())"
        " + (SELECT count(*) FROM pg_listening_channels())"
        " + (SELECT count(*) FROM pg_class WHERE relpersistence = 't')"
    ).fetchone()[0]
    return connection.execute("SELECT pg_backend_pid()").fetchone()[0], ", ".join(changed), objects


def test_a_restart_of_the_pooler_loses_no_acknowledged_write(service, pooler):
    with Load(service) as load:
        load.wait_for(50)
        pooler.stop()
        wait_until(lambda: load.refused)
        assert service.request("GET", "/readyz").status_code == 503
        pooler.start()
        wait_until(lambda: service.request("GET", "/readyz").status_code == 200)
        load.wait_for(50)
        load.stop()

    assert load.broken == []
    assert load.acknowledged <= stored(service)
    assert "OperationalError" in service.log.read_text()


@pytest.fixture(scope="module")
def unlimited(cluster, tmp_path_factory):
    """A service with a pooler of its own, and a database for which the role has no time limits."""
    cluster.execute("CREATE DATABASE unlimited OWNER bookmarks")
    url = cluster.database_url.removesuffix("/bookmarks") + "/unlimited"
    with (
        Pooler(url, query_wait_timeout=3) as pooler,
        Service(tmp_path_factory.mktemp("unlimited"), pooler.url, GRANIAN_WORKERS="1") as running,
    ):
        yield running


def test_missing_limits_are_logged_and_not_set(service, unlimited):
    for n in range(3):
        assert unlimited.create_bookmark(url=f"https://example.com/{n}").status_code == 201

    assert settings_of_the_sessions(unlimited.database_url) == {"lock_timeout=0, statement_timeout=0"}
    for name in ("statement_timeout", "lock_timeout"):
        warning = f"The role of DATABASE_URL has no {name}, "
        assert (unlimited.log.read_text().count(warning), service.log.read_text().count(warning)) == (1, 0)


def test_a_pool_without_free_connections_is_answered_with_503(unlimited):
    with ExitStack() as stack:
        for _ in range(POOL_SIZE):
            stack.enter_context(psycopg.connect(unlimited.database_url)).execute("SELECT 1")
        response = unlimited.create_bookmark(url="https://example.com/late")

    assert response.status_code == 503
    assert unlimited.create_bookmark(url="https://example.com/late").status_code == 201


def test_iterators_use_no_server_side_cursor():
    assert settings.DATABASES["default"]["DISABLE_SERVER_SIDE_CURSORS"]


def test_the_documented_command_has_limits_of_its_own(cluster):
    [options] = re.findall("PGOPTIONS='(.*)' .*manage.py migrate", documented("sh"))

    assert limits_of_a_connection(cluster) == ("1s", "30s")
    assert limits_of_a_connection(cluster, options=options) == ("500ms", "0")
    assert manage("migrate", DATABASE_URL=cluster.database_url, SECRET_KEY="x", PGOPTIONS=options).returncode == 0


def limits_of_a_connection(cluster, **options):
    """Return the limits on locks and on statements."""
    with psycopg.connect(cluster.database_url, **options) as connection:
        return tuple(connection.execute(f"SHOW {name}_timeout").fetchone()[0] for name in ("lock", "statement"))


NESTED = [
    "-m", "not once", "tests/usergroups", "tests/bookmarks", "tests/contract/test_errors.py",
    "tests/contract/test_pagination.py", "--ignore=tests/bookmarks/test_distribute.py",
    "--ignore=tests/bookmarks/test_statements.py",
]  # fmt: skip
"""The tests of the contract that have the most different statements.

The ignored tests copy a database, which fails if PgBouncer keeps connections to it, or are for direct connections.
"""


def test_the_contract_holds_behind_a_pooler(cluster):
    with Pooler(cluster.url) as pooler:
        result = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "--numprocesses=0", "--hypothesis-profile=few", "--reuse-db",
             "-p", "no:cacheprovider", *NESTED],
            env=environment(DATABASE_URL=pooler.url), capture_output=True, text=True, timeout=TIMEOUT, check=False,
        )  # fmt: skip
    assert result.returncode == 0, result.stdout
    assert int(re.search(r"(\d+) passed", result.stdout)[1]) > 1000
