"""The service behind PgBouncer in transaction mode, with the configuration and the time limits in docs/scaling.md.

tests/host/test_same_bytes.py compares the answers.
"""

from contextlib import ExitStack

import pytest

from tests.bookmarks_service.pooler import POOL_SIZE, Pooler, needs_pgbouncer
from tests.bookmarks_service.service import Service
from tests.documents import blocks, section

psycopg = pytest.importorskip("psycopg")
from tests.bookmarks_service.cluster import Cluster, needs_postgresql  # noqa: E402

pytestmark = [pytest.mark.once, needs_pgbouncer, needs_postgresql]


@pytest.fixture
def url():
    """Return the URL of a database without time limits, whose role is the documented one."""
    with Cluster() as cluster:
        cluster.execute("CREATE ROLE bookmarks LOGIN")
        cluster.execute("CREATE DATABASE bookmarks OWNER bookmarks")
        yield cluster.url.replace("postgres@", "bookmarks@").replace("/postgres", "/bookmarks")


def set_documented_limits(url):
    [limits] = blocks(section("scaling", "Behind PgBouncer"), "sql")
    with psycopg.connect(url) as connection:
        connection.execute(limits)


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


@pytest.mark.parametrize(
    ("documented", "state", "warnings"),
    [(False, ("0", "0", 0), 1), (True, ("30s", "10s", 0), 0)],
    ids=["without limits", "with the documented limits"],
)
def test_calls_leave_nothing_in_the_sessions(url, tmp_path, documented, state, warnings):
    """The service sets no limits, which the pooler would share among its clients, but tells if there are none."""
    if documented:
        set_documented_limits(url)
    with Pooler(url) as pooler, Service(tmp_path, pooler.url, GRANIAN_WORKERS="1") as service:
        for number in range(3):
            assert service.create_bookmark(url=f"https://example.com/{number}").status_code in (200, 201)
            assert service.update_user_group(name=f"Name {number}").status_code == 200
        with service.client() as client:
            assert client.get("/v1/export?format=jsonl").status_code == 200

        assert states_of_the_sessions(pooler.url) == {state}
        for name in ("statement_timeout", "lock_timeout"):
            assert service.log.read_text().count(f"The role of DATABASE_URL has no {name}, ") == warnings
