"""How the server sets up its connections to PostgreSQL, directly and behind
PgBouncer in transaction mode, and which encoding a database must have.

tests/host/test_same_bytes.py compares the responses of the service with and
without PgBouncer.
"""

from contextlib import ExitStack

import dj_database_url
import psycopg
import pytest
from django.db import DataError
from django.db.utils import ConnectionHandler

from bookmarks_service import postgresql_connections
from bookmarks_service.postgresql_connections import set_up
from tests.bookmarks_service.postgresql import (
    POOL_SIZE,
    Pooler,
    needs_pgbouncer,
    needs_postgresql,
)
from tests.bookmarks_service.service import Service, manage
from tests.documents import blocks, section

pytestmark = [
    pytest.mark.database_independent,
    pytest.mark.django_db,  # or else pytest-django prevents connections
    needs_postgresql,
]


@pytest.fixture(scope="module")
def limited(cluster):
    """Create a database that has a limit of its own."""
    cluster.execute("CREATE DATABASE limited")
    cluster.execute("ALTER DATABASE limited SET lock_timeout = '20s'")


@pytest.fixture
def connect(cluster, limited):
    """Return a function that opens a Django connection to a database, without
    calling ``set_up()``.
    """
    with ExitStack() as stack:

        def connect(name):
            database = dj_database_url.parse(cluster.url_of(name))
            connection = ConnectionHandler({"default": database})["default"]
            connection.connect()
            stack.callback(connection.close)
            return connection

        yield connect


def loader_of_times(adapters):
    """Return the class of psycopg that makes a datetime of a timestamptz."""
    oid = psycopg.adapters.types["timestamptz"].oid
    return adapters.get_loader(oid, psycopg.pq.Format.TEXT)


def test_times_are_loaded_in_utc_without_a_slower_loader_in_python(connect):
    connection = connect("postgres")

    set_up(connection)

    with connection.cursor() as cursor:
        cursor.execute("SELECT '2026-01-31T10:26:53.589793+01:00'::timestamptz")
        assert cursor.fetchone()[0].isoformat() == "2026-01-31T09:26:53.589793+00:00"
        # Django may set its loader again when it creates a cursor.
        loader = loader_of_times(cursor.adapters)
    assert loader.func is loader_of_times(psycopg.adapters)
    assert loader.func.__module__ == "psycopg_binary._psycopg"


@pytest.mark.parametrize(
    ("database", "options", "limits"),
    [
        ("postgres", "", ("30s", "10s")),
        ("postgres", "-c statement_timeout=0", ("0", "10s")),
        ("limited", "", ("30s", "20s")),
    ],
    ids=["no limits", "PGOPTIONS", "limits of the database"],
)
def test_the_server_sets_only_limits_that_nothing_else_has_set(
    connect, monkeypatch, database, options, limits
):
    monkeypatch.setenv("PGOPTIONS", options)
    connection = connect(database)

    set_up(connection)

    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT current_setting('statement_timeout'), "
            "current_setting('lock_timeout')"
        )
        assert cursor.fetchone() == limits


def test_a_connection_without_limits_is_not_kept(connect, monkeypatch):
    monkeypatch.setattr(postgresql_connections, "SET_LIMITS", "SELECT 1 / 0")
    connection = connect("postgres")

    with pytest.raises(DataError):
        set_up(connection)

    assert connection.connection is None


@pytest.mark.parametrize(
    "command", [["migrate"], ["check", "--database=default"]], ids=" ".join
)
def test_a_database_in_sql_ascii_is_refused(cluster, command):
    """Debian creates such databases if the environment has no locale."""
    cluster.execute("DROP DATABASE IF EXISTS ascii")
    cluster.execute(
        "CREATE DATABASE ascii TEMPLATE template0 ENCODING 'SQL_ASCII' LOCALE 'C'"
    )

    result = manage(*command, DATABASE_URL=cluster.url_of("ascii"))

    assert result.returncode == 1
    problem = "The encoding of the database 'default' is not UTF8."
    assert f"(usergroups.E006) {problem}" in result.stderr
    assert "createdb --encoding=UTF8 --template=template0" in result.stderr


# Behind PgBouncer


def states_of_the_sessions(url):
    """Return the statement timeouts, lock timeouts and numbers of prepared
    statements that the connections of the pool have, as a set of tuples.
    """
    sql = (
        "SELECT current_setting('statement_timeout'), current_setting('lock_timeout'), "
        "(SELECT count(*) FROM pg_prepared_statements)"
    )
    with ExitStack() as stack:
        # As all of them are in a transaction, they use the whole pool.
        connections = [
            stack.enter_context(psycopg.connect(url)) for _ in range(POOL_SIZE)
        ]
        return {connection.execute(sql).fetchone() for connection in connections}


@needs_pgbouncer
def test_calls_leave_nothing_in_the_sessions_of_a_pooler(cluster, tmp_path):
    """The service sets no limits, because other clients of the pooler would
    get them. The role has them instead.
    """
    cluster.execute("CREATE ROLE bookmarks LOGIN")
    cluster.execute("CREATE DATABASE bookmarks OWNER bookmarks")
    url = cluster.url_of("bookmarks").replace("postgres@", "bookmarks@")
    [limits] = blocks(section("scaling", "Behind PgBouncer"), "sql")

    with (
        Pooler(url) as pooler,
        Service(tmp_path, pooler.url, GRANIAN_WORKERS="1") as service,
    ):

        def states_after_calls():
            for number in range(3):
                created = service.create_bookmark(url=f"https://{number}.test/")
                assert created.status_code in (200, 201)
                updated = service.update_user_group(name=f"Name {number}")
                assert updated.status_code == 200
            with service.client() as client:
                assert client.get("/v1/export?format=jsonl").status_code == 200
            return states_of_the_sessions(pooler.url)

        assert states_after_calls() == {("0", "0", 0)}
        cluster.execute(limits)
        cluster.disconnect_all()  # New sessions of the pooler have the limits.
        assert states_after_calls() == {("30s", "10s", 0)}
