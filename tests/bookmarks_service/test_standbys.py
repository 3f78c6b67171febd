"""The service with standbys: which server answers, and what happens while a standby lags behind, hangs or is away."""

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from types import SimpleNamespace
from uuid import uuid4

import httpx
import pytest

from tests.bookmarks_service.calls import CALLS, operations_of, resolved
from tests.bookmarks_service.service import Service
from tests.bookmarks_service.test_nothing_is_lost import Load, stored
from tests.servers import wait_until

pytest.importorskip("psycopg")
import psycopg

from tests.bookmarks_service.cluster import Cluster, binaries
from tests.bookmarks_service.standby import Standby

pytestmark = [
    pytest.mark.once,
    pytest.mark.skipif(binaries() is None, reason="there is no PostgreSQL server to be started"),
]

READS = [
    "/v1/bookmarks",
    "/v1/bookmarks?q=example",
    "/v1/collections",
    "/api/users",
    "/api/user?user_group_id=example_1",
]

SLOW_ON_STANDBYS = """
    CREATE FUNCTION is_read() RETURNS boolean LANGUAGE plpgsql AS
        'BEGIN IF pg_is_in_recovery() THEN PERFORM pg_sleep(600); END IF; RETURN true; END';
    ALTER TABLE bookmarks_bookmark RENAME TO stored_bookmark;
    CREATE VIEW bookmarks_bookmark AS SELECT * FROM stored_bookmark WHERE (SELECT is_read());
"""
AS_BEFORE = """
    DROP VIEW bookmarks_bookmark;
    ALTER TABLE stored_bookmark RENAME TO bookmarks_bookmark;
    DROP FUNCTION is_read;
"""


@pytest.fixture(scope="module")
def cluster():
    with Cluster() as running:
        yield running


@pytest.fixture(scope="module")
def standby(cluster):
    with Standby(cluster) as running:
        yield running


@pytest.fixture(scope="module")
def running_service(cluster, standby, tmp_path_factory):
    folder = tmp_path_factory.mktemp("standbys")
    with Service(folder, cluster.url, REPLICA_URL=standby.url, WEB_CONCURRENCY="1") as running:
        yield running


@pytest.fixture
def service(running_service, standby):
    """Return the service as soon as the standby answers its calls, which it does not at first after a failure."""
    wait_until(lambda: is_used(standby, running_service))
    return running_service


CLIENT = httpx.Client(limits=httpx.Limits(max_keepalive_connections=0), timeout=60)
"""A client for all threads. A new one takes longer than a call."""


def call(service, method, path, **options):
    token = f"Token {service.api_token}" if path.startswith("/api/") else f"Bearer {service.access_token}"
    headers = {"Authorization": token, **options.pop("headers", {})}
    return CLIENT.request(method, service.base_url + path, headers=headers, **options)


def is_used(standby, service, path="/v1/bookmarks"):
    """Make a call that only reads, and return whether the standby has answered it."""
    before = standby.selects()
    assert call(service, "GET", path).status_code == 200
    return standby.selects() > before


def new_url():
    return f"https://example.com/{uuid4()}"


def queries_of(service, method, path, **options):
    """Make a call and return the number of queries in its line in the log."""
    request_id = call(service, method, path, **options).headers["X-Request-ID"]
    lines = [json.loads(line) for line in service.log.read_text().splitlines() if line.startswith('{"asctime"')]
    return next(line["queries"] for line in lines if line["request_id"] == request_id and line["message"] == "request")


@pytest.mark.parametrize("path", READS)
def test_calls_that_only_read_are_answered_by_the_standby(service, standby, path):
    wait_until(lambda: is_used(standby, service, path))


def test_a_read_takes_two_more_queries_and_a_write_none(service, standby):
    call(service, "PUT", "/api/user", json={"user_group_id": "example_1", "name": "A"})  # writes the last use as well
    standby.catch_up()

    # The token and the position of the primary, the position of the standby and the page. A call has more queries if
    # the standby has not replayed what PostgreSQL itself has written meanwhile.
    assert min(queries_of(service, "GET", "/v1/collections") for _ in range(5)) == 4
    assert queries_of(service, "PUT", "/api/user", json={"user_group_id": "example_1", "name": "B"}) == 2
    assert queries_of(service, "POST", "/v1/bookmarks", json={"url": new_url()}) == 2


def test_every_operation_works(service):
    document = call(service, "GET", "/schema/?format=json").json()
    operations, answers = operations_of(document), {}

    for each in CALLS:
        path, method, _ = operations[each.operation]
        parameters, body = resolved([each.parameters, each.body], answers)
        query = {name: value for name, value in parameters.items() if f"{{{name}}}" not in path}
        sent = {"content": each.file, "headers": {"Content-Type": "text/plain"}} if each.file else {"json": body}
        response = call(service, method, path.format(**parameters), params=query, **sent)
        assert response.status_code == each.status, (each, response.text)
        if response.headers["Content-Type"] != "application/json":
            answers[each.operation] = response.text
        elif response.status_code < 400:
            answers[each.operation] = response.json(object_hook=lambda fields: SimpleNamespace(**fields))

    assert answers.keys() == operations.keys()


def assert_writes_are_read(service, standby, times=25):
    """Check that each of some concurrent callers reads what it has written, whichever server answers."""

    def write_and_read(number):
        for _ in range(times):
            url = new_url()
            created = call(service, "POST", "/v1/bookmarks", json={"url": url}).json()["bookmark"]
            path = f"/v1/bookmarks/{created['id']}"
            assert call(service, "GET", path).json().get("bookmark") == created
            assert call(service, "GET", "/v1/bookmarks", params={"url": url}).json()["bookmarks"] == [created]
            changed = call(service, "PATCH", path, json={"title": "Changed"})
            read = call(service, "GET", path)
            assert (read.json(), read.headers["ETag"]) == (changed.json(), changed.headers["ETag"])
            assert call(service, "DELETE", path, headers={"If-Match": read.headers["ETag"]}).status_code == 200
            assert call(service, "GET", path).status_code == 404

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write_and_read, range(4)))


def test_callers_read_their_writes_from_the_standby(service, standby):
    before = standby.selects()

    with standby.changed("recovery_min_apply_delay", "8ms"):  # for which a call waits
        assert_writes_are_read(service, standby)

    assert standby.selects() > before


def test_callers_read_their_writes_without_synchronous_commit(service, standby, cluster):
    """Writes are then acknowledged before the standby can receive them."""
    with cluster.changed("synchronous_commit", "off"), cluster.changed("wal_writer_delay", "10s"):
        assert_writes_are_read(service, standby)


def test_a_standby_that_is_held_back_changes_no_answer(service, standby):
    group = {"user_group_id": "example_1"}
    with standby.held_back():
        assert_writes_are_read(service, standby, times=1)
        assert min(queries_of(service, "GET", "/v1/bookmarks") for _ in range(5)) == 2  # The standby is skipped.

        token = call(service, "POST", "/api/user/access-tokens", json=group).json()["access_token"]
        bearer = {"Authorization": f"Bearer {token['secret']}"}
        assert call(service, "GET", "/v1/bookmarks", headers=bearer).status_code == 200
        collection = call(service, "POST", "/v1/collections", json={"name": new_url()}).json()["collection"]["id"]
        body = {"url": new_url(), "collection": collection}
        assert call(service, "POST", "/v1/bookmarks", json=body, headers=bearer).status_code == 201
        found = call(service, "GET", "/v1/bookmarks", params={"collection": collection}, headers=bearer).json()
        assert [bookmark["url"] for bookmark in found["bookmarks"]] == [body["url"]]
        listed = call(service, "GET", "/api/user/access-tokens", params=group).json()["access_tokens"]
        assert token["id"] in [each["id"] for each in listed]

        assert call(service, "DELETE", f"/api/user/access-tokens/{token['id']}").status_code == 200
        for method, options in (("GET", {}), ("POST", {"json": {"url": new_url()}})):
            assert call(service, method, "/v1/bookmarks", headers=bearer, **options).status_code == 401
    wait_until(lambda: is_used(standby, service))


@contextmanager
def slow_reads(cluster, standby, service, count=3):
    """Make calls whose queries do not end on the standby. Yield the future responses as soon as all have begun."""
    cluster.execute(SLOW_ON_STANDBYS)
    running = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'"
    try:
        with ThreadPoolExecutor(count) as pool:
            calls = [pool.submit(call, service, "GET", "/v1/bookmarks") for _ in range(count)]
            wait_until(lambda: standby.value(running) == count)
            yield calls
    finally:
        cluster.execute(AS_BEFORE)


def test_a_read_that_conflicts_with_recovery_is_repeated_on_the_primary(service, standby, cluster):
    at_once = standby.changed("max_standby_streaming_delay", "0")
    with at_once, slow_reads(cluster, standby, service) as calls:
        cluster.execute("BEGIN; LOCK TABLE stored_bookmark IN ACCESS EXCLUSIVE MODE; COMMIT")
        assert [each.result().status_code for each in calls] == [200, 200, 200]
    assert "canceling statement due to conflict with recovery" in standby.log.read_text()


def test_reads_that_hang_are_repeated_on_the_primary(service, standby, cluster):
    with slow_reads(cluster, standby, service) as calls, standby.suspended():
        assert [each.result().status_code for each in calls] == [200, 200, 200]


def test_calls_are_answered_while_a_standby_hangs(service, standby):
    with standby.suspended():
        statuses = [call(service, "GET", path).status_code for path in READS]
        queries = [queries_of(service, "GET", "/v1/collections") for _ in range(5)]
        ready = call(service, "GET", "/readyz")

    assert min(queries) == 2  # The standby is skipped.
    assert statuses == [200] * len(READS)
    assert (ready.status_code, ready.json()) == (200, {"success": 1, "cache": "ok", "replicas": "unavailable"})


def test_no_call_fails_while_a_standby_is_killed_and_restarted(service, standby):
    statuses, stopped = [], threading.Event()

    def read():
        while not stopped.is_set():
            statuses.append(call(service, "GET", "/v1/bookmarks").status_code)

    readers = [threading.Thread(target=read) for _ in range(4)]
    with Load(service, callers=2) as load:
        for reader in readers:
            reader.start()
        load.wait_for(20)
        with standby.stopped():
            load.wait_for(20)
            assert call(service, "GET", "/readyz").json()["replicas"] == "unavailable"
        wait_until(lambda: is_used(standby, service))
        load.wait_for(20)
        stopped.set()
        for reader in readers:
            reader.join()

    assert set(statuses) == {200}
    assert (load.broken, load.refused) == ([], set())
    assert load.acknowledged <= stored(service)
    assert call(service, "GET", "/readyz").json()["replicas"] == "ok"


def test_only_standbys_of_the_primary_are_used(cluster, standby, tmp_path):
    cluster.execute("CREATE DATABASE several")
    with Standby(cluster) as other:
        urls = [f"{server.url.removesuffix('/postgres')}/several" for server in (cluster, standby, other)]
        replicas = [*urls, standby.url, "postgres://postgres@127.0.0.1:1/several"]
        with Service(tmp_path, urls[0], REPLICA_URL=", ".join(replicas), WEB_CONCURRENCY="1") as service:
            for each in (standby, other):
                wait_until(lambda each=each: is_used(each, service))
            assert call(service, "GET", "/readyz").json()["replicas"] == "unavailable"

            other.execute("SELECT pg_promote()")
            before = other.selects()
            assert_writes_are_read(service, standby, times=2)
            assert other.selects() == before
            wait_until(lambda: service.log.read_text().count("The standby replica_") == 4)

        log = service.log.read_text()
        for number in (1, 3, 4):
            assert log.count(f"The standby replica_{number} is not used: The server is not a standby of the") == 1
        assert log.count("The standby replica_5 is not used: ") == 1
        assert "The standby replica_2" not in log


def test_a_role_that_may_not_ask_for_the_position_reads_from_the_primary(cluster, standby, tmp_path):
    cluster.execute("CREATE ROLE clerk LOGIN")
    cluster.execute("CREATE DATABASE clerk OWNER clerk")
    database_url, replica_url = (
        server.url.replace("postgres@", "clerk@").removesuffix("/postgres") + "/clerk" for server in (cluster, standby)
    )
    with psycopg.connect(cluster.url.removesuffix("/postgres") + "/clerk") as connection:
        connection.execute("REVOKE EXECUTE ON FUNCTION pg_control_system() FROM PUBLIC")

    with Service(tmp_path, database_url, REPLICA_URL=replica_url, WEB_CONCURRENCY="1") as service:
        statuses = [call(service, "GET", path).status_code for path in READS]
        ready = call(service, "GET", "/readyz")

    assert statuses == [200] * len(READS)
    assert (ready.status_code, ready.json()["replicas"]) == (200, "unavailable")
    assert service.log.read_text().count("is not used: permission denied for function pg_control_system") == 1
