"""The service behind PgBouncer in transaction mode, with the configuration and the time limits in docs/scaling.md."""

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
    assert states_of_the_sessions(pooler.url) == {("30s", "1s", 0)}


def test_a_lock_is_answered_with_503_by_the_limits_of_the_role(service, cluster):
    with psycopg.connect(cluster.database_url) as other:
        other.execute("LOCK TABLE bookmarks_bookmark IN ACCESS EXCLUSIVE MODE")
        response = service.create_bookmark(url="https://example.com/locked")
        other.rollback()

    assert response.status_code == 503


def states_of_the_sessions(url):
    """Return the time limits and the number of prepared statements of all connections of the pool."""
    sql = (
        "SELECT current_setting('statement_timeout'), current_setting('lock_timeout'),"
        " (SELECT count(*) FROM pg_prepared_statements)"
    )
    with ExitStack() as stack:
        # Together, the transactions use all connections of the pool.
        connections = [stack.enter_context(psycopg.connect(url)) for _ in range(POOL_SIZE)]
        return {connection.execute(sql).fetchone() for connection in connections}


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

    assert states_of_the_sessions(unlimited.database_url) == {("0", "0", 0)}
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
