"""The service behind PgBouncer in transaction mode, with the configuration and the time limits in docs/deploy.md."""

import json
import re
from contextlib import ExitStack

import pytest

from tests.bookmarks_service.pooler import PGBOUNCER, POOL_SIZE, Pooler, documented
from tests.bookmarks_service.service import Service
from tests.bookmarks_service.test_nothing_is_lost import Load, stored
from tests.servers import wait_until

psycopg = pytest.importorskip("psycopg")
from tests.bookmarks_service.cluster import Cluster, binaries  # noqa: E402

pytestmark = [
    pytest.mark.once,
    pytest.mark.skipif(PGBOUNCER is None, reason="PgBouncer is not installed"),
    pytest.mark.skipif(binaries() is None, reason="there is no PostgreSQL server to be started"),
]

TRACKED = {"DateStyle", "TimeZone", "application_name", "client_encoding", "standard_conforming_strings"}
"""The settings that PgBouncer keeps for each client, and changes on the connection that the client gets."""


def documented_limits(lock_timeout):
    """Return the documented statements, with another time limit for locks."""
    statements = documented("sql")
    assert statements.count("lock_timeout = '10s'") == 1
    return statements.replace("lock_timeout = '10s'", f"lock_timeout = '{lock_timeout}'")


@pytest.fixture(scope="module")
def cluster():
    with Cluster() as running:
        running.execute("CREATE ROLE bookmarks LOGIN")
        running.execute("CREATE DATABASE bookmarks OWNER bookmarks")
        running.execute(documented_limits("1s"))
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


def test_a_load_and_an_export_are_complete_and_leave_nothing_in_the_sessions(service, pooler):
    with Load(service, callers=12) as load:
        load.wait_for(100)
    with service.client() as client:
        exported = client.get("/v1/export?format=jsonl").text

    urls = {json.loads(line).get("url") for line in exported.splitlines()} - {None}
    assert (load.refused, load.broken) == (set(), [])
    assert urls == load.acknowledged
    assert settings_of_the_sessions(pooler.url) == {"lock_timeout=1000, statement_timeout=30000"}


def test_a_lock_is_answered_with_503_by_the_limits_of_the_role(service, cluster):
    with psycopg.connect(cluster.database_url) as other:
        other.execute("LOCK TABLE bookmarks_bookmark IN ACCESS EXCLUSIVE MODE")
        response = service.create_bookmark(url="https://example.com/locked")
        other.rollback()

    assert response.status_code == 503


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

    assert load.broken == []
    assert load.acknowledged <= stored(service)


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


def test_the_documented_command_has_limits_of_its_own(cluster):
    [options] = re.findall("PGOPTIONS='(.*)' .*manage.py migrate", documented("sh"))

    with psycopg.connect(cluster.database_url, options=options) as connection:
        limits = [connection.execute(f"SHOW {name}_timeout").fetchone()[0] for name in ("lock", "statement")]
    assert limits == ["500ms", "0"]
