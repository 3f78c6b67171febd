"""The time limits that the server sets on its own connections to PostgreSQL."""

import dj_database_url
import pytest
from django.db import DataError
from django.db.utils import ConnectionHandler

from bookmarks_service import postgresql_connections
from bookmarks_service.postgresql_connections import set_up

pytest.importorskip("psycopg")
from tests.bookmarks_service.cluster import Cluster, binaries

pytestmark = [
    pytest.mark.once,
    pytest.mark.django_db,  # or else pytest-django prevents connections
    pytest.mark.skipif(binaries() is None, reason="there is no PostgreSQL server to be started"),
]


@pytest.fixture(scope="module")
def cluster():
    with Cluster() as running:
        yield running


def limits(cluster, name="postgres"):
    """Return the time limits of a new connection of the server to a database."""
    database = dj_database_url.parse(cluster.url.removesuffix("postgres") + name)
    connection = ConnectionHandler({"default": database})["default"]
    connection.connect()
    try:
        set_up(connection)
        with connection.cursor() as cursor:
            cursor.execute("SELECT current_setting('statement_timeout'), current_setting('lock_timeout')")
            return cursor.fetchone()
    finally:
        connection.close()


def test_the_server_sets_time_limits(cluster):
    assert limits(cluster) == ("30s", "10s")


@pytest.mark.parametrize("value", ["2s", "0"])
def test_pgoptions_takes_precedence(cluster, monkeypatch, value):
    monkeypatch.setenv("PGOPTIONS", f"-c statement_timeout={value}")

    assert limits(cluster) == (value, "10s")


@pytest.mark.parametrize("value", ["20s", "0"])
def test_the_limits_of_the_database_take_precedence(cluster, value):
    cluster.execute("DROP DATABASE IF EXISTS other")
    cluster.execute("CREATE DATABASE other")
    cluster.execute(f"ALTER DATABASE other SET lock_timeout = '{value}'")

    assert limits(cluster, "other") == ("30s", value)


def test_a_connection_without_limits_is_not_kept(cluster, monkeypatch):
    monkeypatch.setattr(postgresql_connections, "STATE", "SELECT 1 / 0")
    connection = ConnectionHandler({"default": dj_database_url.parse(cluster.url)})["default"]
    connection.connect()

    with pytest.raises(DataError):
        set_up(connection)

    assert connection.connection is None
