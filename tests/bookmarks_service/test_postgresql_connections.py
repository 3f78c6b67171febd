"""The time limits that the server sets on its own connections to PostgreSQL."""

import dj_database_url
import pytest
from django.db import DataError
from django.db.utils import ConnectionHandler

from bookmarks_service import postgresql_connections
from bookmarks_service.postgresql_connections import set_up

pytest.importorskip("psycopg")
from tests.bookmarks_service.cluster import Cluster, needs_postgresql

pytestmark = [
    pytest.mark.once,
    pytest.mark.django_db,  # or else pytest-django prevents connections
    needs_postgresql,
]


@pytest.fixture(scope="module")
def cluster():
    with Cluster() as running:
        running.execute("CREATE DATABASE limited")
        running.execute("ALTER DATABASE limited SET lock_timeout = '20s'")
        yield running


@pytest.fixture
def connect(cluster):
    """Return a function that returns a connection of the server to a database, which is not set up yet."""
    connections = []

    def connect(name):
        database = dj_database_url.parse(cluster.url.removesuffix("postgres") + name)
        connection = ConnectionHandler({"default": database})["default"]
        connection.connect()
        connections.append(connection)
        return connection

    yield connect
    for connection in connections:
        connection.close()


@pytest.mark.parametrize(
    ("database", "options", "limits"),
    [
        ("postgres", "", ("30s", "10s")),
        ("postgres", "-c statement_timeout=0", ("0", "10s")),
        ("limited", "", ("30s", "20s")),
    ],
    ids=["no limits", "PGOPTIONS", "limits of the database"],
)
def test_the_server_sets_the_limits_that_are_not_set(connect, monkeypatch, database, options, limits):
    monkeypatch.setenv("PGOPTIONS", options)
    connection = connect(database)

    set_up(connection)

    with connection.cursor() as cursor:
        cursor.execute("SELECT current_setting('statement_timeout'), current_setting('lock_timeout')")
        assert cursor.fetchone() == limits


def test_a_connection_without_limits_is_not_kept(connect, monkeypatch):
    monkeypatch.setattr(postgresql_connections, "STATE", "SELECT 1 / 0")
    connection = connect("postgres")

    with pytest.raises(DataError):
        set_up(connection)

    assert connection.connection is None
