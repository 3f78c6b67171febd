"""Responses while the database has faults, and the data after a worker is
killed.
"""

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

pytestmark = pytest.mark.database_independent


def assert_unavailable(response):
    assert error_code(response, 503) == "service_unavailable"
    assert int(response.headers["Retry-After"]) > 0


def new_url():
    return f"https://example.com/{uuid4()}"


def assert_healthy(service):
    """Check that the first write after a fault succeeds in each app, without a
    restart.
    """
    assert service.update_user_group(name="Well").status_code == 200
    assert service.create_bookmark(url=new_url()).status_code == 201


def list_bookmarks(service):
    headers = {"Authorization": f"Bearer {service.access_token}"}
    return service.request("GET", "/v1/bookmarks", headers=headers)


# PostgreSQL


@pytest.fixture(scope="module")
def postgresql_service(cluster, tmp_path_factory):
    """Yield the running service, with its data in ``cluster``."""
    with Service(
        tmp_path_factory.mktemp("faults"), cluster.url, GRANIAN_WORKERS="1"
    ) as running:
        yield running


def test_a_stopped_server_is_answered_with_503(postgresql_service, cluster):
    # Each call waits ten seconds for a connection.
    with cluster.stopped(), ThreadPoolExecutor(3) as pool:
        calls = [
            pool.submit(postgresql_service.create_bookmark, url=new_url()),
            pool.submit(list_bookmarks, postgresql_service),
            pool.submit(postgresql_service.request, "GET", "/readyz"),
        ]
        assert postgresql_service.request("GET", "/livez").status_code == 200
        for call in calls:
            assert_unavailable(call.result())
    assert postgresql_service.request("GET", "/readyz").status_code == 200
    assert_healthy(postgresql_service)


def test_writes_to_a_read_only_server_are_answered_with_503(
    postgresql_service, cluster
):
    with cluster.setting("default_transaction_read_only", "on"):
        assert_unavailable(postgresql_service.create_bookmark(url=new_url()))
        assert_unavailable(postgresql_service.update_user_group(name="New"))
        assert list_bookmarks(postgresql_service).status_code == 200
    assert_healthy(postgresql_service)


def test_a_lock_timeout_is_answered_with_503(postgresql_service, cluster):
    with (
        cluster.setting("lock_timeout", "1s"),
        cluster.connect() as other,
        other.transaction(),
    ):
        other.execute("LOCK TABLE bookmarks_bookmark IN ACCESS EXCLUSIVE MODE")
        assert_unavailable(postgresql_service.create_bookmark(url=new_url()))
        assert postgresql_service.update_user_group(name="Well").status_code == 200
    assert_healthy(postgresql_service)


def test_a_statement_timeout_is_answered_with_503(postgresql_service, cluster):
    cluster.execute(
        "CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql "
        "AS 'BEGIN PERFORM pg_sleep(600); RETURN NEW; END'"
    )
    cluster.execute(
        "CREATE TRIGGER slow BEFORE INSERT ON bookmarks_bookmark "
        "FOR EACH ROW EXECUTE FUNCTION slow()"
    )

    with cluster.setting("statement_timeout", "1s"):
        response = postgresql_service.create_bookmark(url=new_url())

    cluster.execute("DROP FUNCTION slow CASCADE")
    assert_unavailable(response)
    assert_healthy(postgresql_service)


WAITING = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
"""Counts the connections that wait for a lock."""


def test_a_serialization_failure_is_retried(postgresql_service, cluster):
    with (
        cluster.setting("default_transaction_isolation", "repeatable read"),
        cluster.connect() as other,
        cluster.connect() as observer,
        ThreadPoolExecutor(1) as pool,
    ):
        other.execute("BEGIN")
        other.execute("UPDATE usergroups_usergroup SET name = 'Theirs'")
        call = pool.submit(postgresql_service.update_user_group, name="Mine")
        wait_until(lambda: observer.execute(WAITING).fetchone()[0])
        other.execute("COMMIT")
        assert call.result().json()["user_group"]["name"] == "Mine"


def test_calls_of_others_are_served_while_those_of_an_owner_wait_for_a_lock(
    postgresql_service, cluster
):
    """Forty updates of a user group use six of the eight connections."""
    service = postgresql_service
    _, other_token = service.issue_tokens("Other")
    with (
        cluster.connect() as other,
        cluster.connect() as observer,
        ThreadPoolExecutor(40) as pool,
    ):
        other.execute("BEGIN")
        other.execute(
            "SELECT FROM usergroups_usergroup WHERE provided_id = 'example_1' FOR UPDATE"
        )
        for number in range(40):
            pool.submit(service.update_user_group, name=f"Name {number}")
        wait_until(lambda: observer.execute(WAITING).fetchone()[0] == 6)
        headers = {"Authorization": f"Bearer {other_token}"}
        statuses = []
        for _ in range(20):
            body = {"url": new_url()}
            response = service.request(
                "POST", "/v1/bookmarks", json=body, headers=headers
            )
            statuses.append(response.status_code)
        other.execute("COMMIT")

    assert statuses == [201] * 20


WAITS_FOR_STANDBY = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"


@contextmanager
def standby_missing(cluster):
    """Let every commit wait for a standby server that does not exist, until
    the block ends.
    """

    def set_standbys(names):
        cluster.execute(f"ALTER SYSTEM SET synchronous_standby_names = '{names}'")
        cluster.execute("SELECT pg_reload_conf()")

    set_standbys("missing")
    try:
        yield
    finally:
        set_standbys("")


def test_reads_do_not_wait_for_a_standby_and_readyz_fails_when_a_write_does(
    postgresql_service, cluster
):
    """The token's last use must be written, because it is long ago."""
    service = postgresql_service
    cluster.execute("UPDATE bookmarks_accesstoken SET last_used_at = '2026-01-01'")
    with (
        ThreadPoolExecutor(1) as pool,
        standby_missing(cluster),
        cluster.connect() as observer,
    ):
        assert list_bookmarks(service).status_code == 200
        last_use = "SELECT max(last_used_at) > '2026-01-02' FROM bookmarks_accesstoken"
        assert observer.execute(last_use).fetchone() == (True,)
        assert service.request("GET", "/readyz").status_code == 200

        write = pool.submit(service.create_bookmark, url=new_url())
        wait_until(lambda: observer.execute(WAITS_FOR_STANDBY).fetchone()[0])
        wait_until(lambda: service.request("GET", "/readyz").status_code == 503)
        assert list_bookmarks(service).status_code == 200
        assert not write.done()

    reason = "Not ready: Writes wait for a standby server of the database."
    assert reason in service.log.read_text()
    assert write.result().status_code == 201
    assert service.request("GET", "/readyz").status_code == 200


CONNECTIONS = (
    "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' "
    "AND pid <> pg_backend_pid()"
)
"""Counts the connections of the service."""

# Clients that have gone


@pytest.fixture
def impatient_service(postgresql_service, monkeypatch, tmp_path):
    """Yield a service on the same database, with a time limit of two seconds."""
    variables = postgresql_service.variables
    monkeypatch.setitem(variables, "USERGROUPS_CALL_TIME_LIMIT", "2")
    with postgresql_service.another_host(tmp_path) as running:
        yield running


def test_an_export_ends_after_its_client_has_gone(impatient_service, cluster):
    service = impatient_service
    token = f"Authorization: Bearer {service.access_token}"
    request = f"GET /v1/export HTTP/1.1\r\nHost: localhost\r\n{token}\r\n\r\n".encode()
    waiting = (
        f"{WAITING} AND clock_timestamp() > query_start + %s * interval '1 second'"
    )
    in_transactions = f"{CONNECTIONS} AND xact_start IS NOT NULL"
    with cluster.connect() as other, cluster.connect() as observer:
        other.execute("BEGIN")
        other.execute("LOCK TABLE bookmarks_bookmark IN ACCESS EXCLUSIVE MODE")
        clients = [service.connect(request) for _ in range(3)]
        wait_until(lambda: observer.execute(waiting, [0]).fetchone()[0] == 3)
        for client in clients:
            client.close()
        # until the time limit of two seconds has passed
        wait_until(lambda: observer.execute(waiting, [2]).fetchone()[0] == 3)
        other.execute("COMMIT")
        # They end at the first row, neither complete nor waiting for their
        # clients.
        ended = '"path": "/v1/export", "status": 503'
        wait_until(lambda: service.log.read_text().count(ended) == 3)
        wait_until(lambda: not observer.execute(in_transactions).fetchone()[0])

    assert not service.send(request).startswith(b"HTTP/1.1 429 ")


def test_terminated_connections_are_replaced_and_none_is_leaked(
    postgresql_service, cluster
):
    """One process keeps at most the eight connections of its pool."""
    cluster.disconnect_all()
    for _ in range(20):
        assert_healthy(postgresql_service)

    with cluster.connect() as connection:
        assert connection.execute(CONNECTIONS).fetchone()[0] <= 8
        idle = f"{CONNECTIONS} AND state LIKE 'idle in transaction%'"
        assert connection.execute(idle).fetchone()[0] == 0


# SQLite

IMPATIENT = """
from bookmarks_service.settings import *

DATABASES["default"]["OPTIONS"]["timeout"] = 5
"""
"""Settings with which a write waits for another one for five seconds."""


@pytest.fixture(scope="module")
def sqlite_service(tmp_path_factory):
    """Yield the running service, with its data in a SQLite file."""
    folder = tmp_path_factory.mktemp("sqlite")
    (folder / "impatient.py").write_text(IMPATIENT)
    variables = {
        "DJANGO_SETTINGS_MODULE": "impatient",
        "PYTHONPATH": str(folder),
        "GRANIAN_WORKERS": "1",
    }
    with Service(folder, f"sqlite:///{folder / 'db.sqlite3'}", **variables) as running:
        yield running


@contextmanager
def writes_locked(service, *statements):
    """Execute the statements, and then lock the SQLite file for writes until
    the block ends.
    """
    file = service.database_url.removeprefix("sqlite:///")
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        for statement in (*statements, "BEGIN IMMEDIATE"):
            connection.execute(statement)
        yield


def test_writes_to_a_locked_sqlite_are_answered_with_503_and_reads_do_not_wait(
    sqlite_service,
):
    """There are as many reads at once as a user group may have, with a token
    whose last use must be written.

    A call that waited for the writer, which keeps its lock until all calls
    have ended, would take at least five seconds.
    """
    unused = "UPDATE bookmarks_accesstoken SET last_used_at = '2026-01-01'"
    with writes_locked(sqlite_service, unused), ThreadPoolExecutor(7) as pool:
        calls = [pool.submit(list_bookmarks, sqlite_service) for _ in range(6)]
        calls.append(pool.submit(sqlite_service.request, "GET", "/livez"))
        responses = [call.result() for call in calls]
        assert {response.status_code for response in responses} == {200}
        assert max(response.elapsed.total_seconds() for response in responses) < 5
        assert_unavailable(sqlite_service.create_bookmark(url="https://example.com/"))

    assert_healthy(sqlite_service)
    assert "Could not write last_used_at of the token" in sqlite_service.log.read_text()


def test_a_client_that_goes_away_frees_its_place(sqlite_service):
    """An import counts before its body arrives, and until its client has gone."""
    head = (
        "POST /v1/imports HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
        f"Authorization: Bearer {sqlite_service.access_token}\r\n"
        "Content-Type: application/jsonl\r\nContent-Length: 100\r\n\r\n"
    )

    def status():
        file = '{"url": "https://example.com/"}'.ljust(100)
        return sqlite_service.send(f"{head}{file}".encode()).split()[1]

    clients = []

    def is_full():
        """Add a client, which is refused if the call of ``status()`` overtakes it."""
        clients.append(sqlite_service.connect(head.encode()))
        return status() == b"429"

    assert status() == b"200"
    wait_until(is_full)
    for client in clients:
        client.close()
    wait_until(lambda: status() == b"200")


# A worker that is killed


def create_bookmarks(service, stopped, acknowledged, refused):
    """Create bookmarks one after the other until ``stopped`` is set, and add
    their URLs to one of the two sets.
    """
    while not stopped.is_set():
        url = new_url()
        # A call without a response may or may not have created its bookmark.
        with suppress(httpx.TransportError):
            response = service.create_bookmark(url=url)
            if response.status_code == 201:
                acknowledged.add(url)
            else:
                refused.add(url)


@contextmanager
def download(service):
    """Start an export of 6 MB, too large for the buffers of a socket.

    Yield a function that receives a part of it.
    """
    url = "https://example.com/".ljust(7900, "\N{GRINNING FACE}")
    with service.client() as client:
        for batch in range(2):
            items = [{"url": f"{url}{batch}/{number}"} for number in range(100)]
            response = client.post("/v1/bookmarks/batch", json={"bookmarks": items})
            assert response.status_code == 200
    token = f"Authorization: Bearer {service.access_token}"

    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
        connection.connect(("127.0.0.1", service.port))
        connection.sendall(
            f"GET /v1/export HTTP/1.1\r\nHost: localhost\r\n{token}\r\n\r\n".encode()
        )
        yield partial(connection.recv, 65536)


def test_killing_a_worker_loses_no_acknowledged_write(sqlite_service):
    """A download that was in progress lacks its last chunk, so that the client
    sees the failure.
    """
    workers = sqlite_service.worker_pids()
    stopped = threading.Event()
    acknowledged = set()
    refused = set()
    with download(sqlite_service) as receive, ThreadPoolExecutor(4) as pool:
        received = receive()
        calls = [
            pool.submit(
                create_bookmarks, sqlite_service, stopped, acknowledged, refused
            )
            for _ in range(4)
        ]
        try:
            wait_until(lambda: len(acknowledged) >= 20)
            os.kill(workers[0], signal.SIGKILL)
            sqlite_service.wait_for_replacements(workers)
            before = len(acknowledged)
            wait_until(lambda: len(acknowledged) >= before + 20)
        finally:
            stopped.set()
        # Otherwise result() raises the error of the call.
        assert [call.result() for call in calls] == [None] * 4
        with suppress(ConnectionResetError):
            while data := receive():
                received += data

    with sqlite_service.client() as client:
        found = set(
            re.findall(
                r"https://example\.com/[0-9a-f-]{36}",
                client.get("/v1/export?format=csv").text,
            )
        )
    assert acknowledged <= found
    assert not refused & found
    assert b"transfer-encoding: chunked" in received
    assert not received.endswith(b"0\r\n\r\n")
