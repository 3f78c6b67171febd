"""The answers to faults of the database, and what remains when a worker is killed."""

import os
import re
import signal
import socket
import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from functools import partial
from uuid import uuid4

import httpx
import pytest

from tests.answers import error_code
from tests.bookmarks_service.service import Service
from tests.servers import wait_until

pytestmark = pytest.mark.once


def assert_unavailable(response):
    assert error_code(response, 503) == "service_unavailable"
    assert int(response.headers["Retry-After"]) > 0


def new_url():
    return f"https://example.com/{uuid4()}"


def assert_healthy(service):
    """Check that the first calls succeed, without a restart."""
    assert service.update_user_group(name="Well").status_code == 200
    assert service.create_bookmark(url=new_url()).status_code == 201


def list_bookmarks(service):
    headers = {"Authorization": f"Bearer {service.access_token}"}
    return service.request("GET", "/v1/bookmarks", headers=headers)


# PostgreSQL


@pytest.fixture(scope="module")
def cluster():
    pytest.importorskip("psycopg")
    from tests.bookmarks_service.postgresql import Cluster, binaries  # noqa: PLC0415

    if binaries() is None:
        pytest.skip("there is no PostgreSQL server to be started")
    with Cluster() as running:
        yield running


@pytest.fixture(scope="module")
def on_postgresql(cluster, tmp_path_factory):
    with Service(tmp_path_factory.mktemp("faults"), cluster.url, GRANIAN_WORKERS="1") as running:
        yield running


def test_a_stopped_server_is_answered_with_503(on_postgresql, cluster):
    with cluster.stopped():
        assert_unavailable(on_postgresql.create_bookmark(url=new_url()))
        assert_unavailable(list_bookmarks(on_postgresql))
        assert_unavailable(on_postgresql.request("GET", "/readyz"))
        assert on_postgresql.request("GET", "/livez").status_code == 200
    assert on_postgresql.request("GET", "/readyz").status_code == 200
    assert_healthy(on_postgresql)


def test_writes_to_a_read_only_server_are_answered_with_503(on_postgresql, cluster):
    with cluster.setting("default_transaction_read_only", "on"):
        assert_unavailable(on_postgresql.create_bookmark(url=new_url()))
        assert_unavailable(on_postgresql.update_user_group(name="New"))
        assert list_bookmarks(on_postgresql).status_code == 200
    assert_healthy(on_postgresql)


def test_a_lock_timeout_is_answered_with_503(on_postgresql, cluster):
    with cluster.setting("lock_timeout", "1s"), cluster.connect() as other, other.transaction():
        other.execute("LOCK TABLE bookmarks_bookmark IN ACCESS EXCLUSIVE MODE")
        assert_unavailable(on_postgresql.create_bookmark(url=new_url()))
        assert on_postgresql.update_user_group(name="Well").status_code == 200
    assert_healthy(on_postgresql)


def test_a_statement_timeout_is_answered_with_503(on_postgresql, cluster):
    body = "'BEGIN PERFORM pg_sleep(600); RETURN NEW; END'"
    cluster.execute(f"CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS {body}")
    cluster.execute("CREATE TRIGGER slow BEFORE INSERT ON bookmarks_bookmark FOR EACH ROW EXECUTE FUNCTION slow()")

    with cluster.setting("statement_timeout", "1s"):
        response = on_postgresql.create_bookmark(url=new_url())

    cluster.execute("DROP FUNCTION slow CASCADE")
    assert_unavailable(response)
    assert_healthy(on_postgresql)


def test_a_serialization_failure_is_retried(on_postgresql, cluster):
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
    with (
        cluster.setting("default_transaction_isolation", "repeatable read"),
        cluster.connect() as other,
        cluster.connect() as onlooker,
        ThreadPoolExecutor(1) as pool,
    ):
        other.execute("BEGIN")
        other.execute("UPDATE usergroups_usergroup SET name = 'Theirs'")
        call = pool.submit(on_postgresql.update_user_group, name="Mine")
        wait_until(lambda: onlooker.execute(waiting).fetchone()[0])
        other.execute("COMMIT")
        assert call.result().json()["user_group"]["name"] == "Mine"


def test_terminated_connections_are_replaced_and_none_is_leaked(on_postgresql, cluster):
    """One process with eight threads keeps at most one connection for each."""
    cluster.disconnect_all()
    for _ in range(20):
        assert_healthy(on_postgresql)

    with cluster.connect() as connection:
        sql = "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
        assert connection.execute(sql).fetchone()[0] <= 8
        sql = "SELECT count(*) FROM pg_stat_activity WHERE state LIKE 'idle in transaction%%'"
        assert connection.execute(sql).fetchone()[0] == 0


# SQLite

IMPATIENT = """
from bookmarks_service.settings import *

DATABASES["default"]["OPTIONS"]["timeout"] = 1
"""
"""Settings with which a write waits for another one for one second."""


@pytest.fixture(scope="module")
def on_sqlite(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sqlite")
    (folder / "impatient.py").write_text(IMPATIENT)
    variables = {"DJANGO_SETTINGS_MODULE": "impatient", "PYTHONPATH": str(folder), "GRANIAN_WORKERS": "1"}
    with Service(folder, f"sqlite:///{folder / 'db.sqlite3'}", **variables) as running:
        yield running


@contextmanager
def writes_locked(service, *statements):
    file = service.database_url.removeprefix("sqlite:///")
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        for statement in (*statements, "BEGIN IMMEDIATE"):
            connection.execute(statement)
        yield


def test_writes_to_a_locked_sqlite_are_answered_with_503_and_reads_do_not_wait(on_sqlite):
    """There are more reads at once than threads, with a token whose last use must be written.

    A read that waited would get a 503 response, because the writer keeps its lock until all calls have ended.
    """
    unused = "UPDATE bookmarks_accesstoken SET last_used_at = '2026-01-01'"
    with writes_locked(on_sqlite, unused), ThreadPoolExecutor(17) as pool:
        calls = [pool.submit(list_bookmarks, on_sqlite) for _ in range(16)]
        calls.append(pool.submit(on_sqlite.request, "GET", "/livez"))
        assert {call.result().status_code for call in calls} == {200}
        assert_unavailable(on_sqlite.create_bookmark(url="https://example.com/"))

    assert_healthy(on_sqlite)
    assert "Could not write the last use of the token" in on_sqlite.log.read_text()


# A worker that is killed


def create_bookmarks(service, stopped, acknowledged, refused):
    """Create bookmarks, one after another, until the event ``stopped``."""
    while not stopped.is_set():
        url = new_url()
        with suppress(httpx.TransportError):  # Nobody knows whether such a call was done.
            (acknowledged if service.create_bookmark(url=url).status_code == 201 else refused).add(url)


@contextmanager
def download(service):
    """Yield a function that returns what it receives of an export of 6 MB, which fit into no buffer of a socket."""
    url = "https://example.com/".ljust(7900, "\N{GRINNING FACE}")
    with service.client() as client:
        for batch in range(2):
            items = [{"url": f"{url}{batch}/{number}"} for number in range(100)]
            assert client.post("/v1/bookmarks/batch", json={"bookmarks": items}).status_code == 200
    token = f"Authorization: Bearer {service.access_token}"

    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
        connection.connect(("127.0.0.1", service.port))
        connection.sendall(f"GET /v1/export HTTP/1.1\r\nHost: localhost\r\n{token}\r\n\r\n".encode())
        yield partial(connection.recv, 65536)


def test_killing_a_worker_loses_no_acknowledged_write(on_sqlite):
    """A download that breaks off is shorter than its ``Content-Length``."""
    workers, stopped, acknowledged, refused = on_sqlite.worker_pids(), threading.Event(), set(), set()
    with download(on_sqlite) as receive, ThreadPoolExecutor(4) as pool:
        received = receive()
        calls = [pool.submit(create_bookmarks, on_sqlite, stopped, acknowledged, refused) for _ in range(4)]
        try:
            wait_until(lambda: len(acknowledged) >= 20)
            os.kill(workers[0], signal.SIGKILL)
            on_sqlite.wait_for_replacements(workers)
            before = len(acknowledged)
            wait_until(lambda: len(acknowledged) >= before + 20)
        finally:
            stopped.set()
        assert [call.result() for call in calls] == [None] * 4
        with suppress(ConnectionResetError):
            while data := receive():
                received += data

    with on_sqlite.client() as client:
        found = set(re.findall(r"https://example\.com/[0-9a-f-]{36}", client.get("/v1/export?format=csv").text))
    assert acknowledged <= found
    assert not refused & found
    head, _, body = received.partition(b"\r\n\r\n")
    assert len(body) < int(re.search(rb"content-length: (\d+)", head)[1])
