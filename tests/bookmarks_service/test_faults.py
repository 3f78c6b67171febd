"""The answers to faults of PostgreSQL, which the tests cause on a server of their own."""

import tempfile
import threading
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from uuid import uuid4

import pytest

from tests.bookmarks_service.service import Service, small_disk
from tests.servers import TIMEOUT, wait_until

psycopg = pytest.importorskip("psycopg")
from tests.bookmarks_service.cluster import Cluster, binaries  # noqa: E402

pytestmark = [
    pytest.mark.once,
    pytest.mark.skipif(binaries() is None, reason="there is no PostgreSQL server to be started"),
]

TIMEOUTS = {"PGOPTIONS": "-c statement_timeout=2s -c lock_timeout=1s", "PGCONNECT_TIMEOUT": "2", "GRANIAN_WORKERS": "1"}


@pytest.fixture(scope="module")
def cluster():
    with Cluster() as running:
        yield running


@pytest.fixture(scope="module")
def service(cluster, tmp_path_factory):
    with Service(tmp_path_factory.mktemp("faults"), cluster.url, **TIMEOUTS) as running:
        yield running


def assert_unavailable(response):
    assert response.status_code == 503
    assert response.headers["Content-Type"] == "application/json"
    assert int(response.headers["Retry-After"]) > 0
    assert (response.json()["success"], response.json()["type"]) == (0, "server_error")
    assert response.json()["errors"][0]["code"] == "service_unavailable"


def new_url():
    return f"https://example.com/{time.time_ns()}"


def assert_healthy(service):
    """Check that the first calls succeed, without a restart."""
    assert service.update_user_group(name="Well").status_code == 200
    assert service.create_bookmark(url=new_url()).status_code == 201


def first_refusal(service):
    """Create large bookmarks until one is refused, and return the answer."""
    answers = (service.create_bookmark(url=new_url().ljust(8000, "a")) for _ in range(200))
    return next(answer for answer in answers if answer.status_code != 201)


def list_bookmarks(service):
    headers = {"Authorization": f"Bearer {service.access_token}"}
    return service.request("GET", "/v1/bookmarks", headers=headers)


@contextmanager
def in_thread(action):
    """Run ``action`` in a thread. Yield a function that waits for it and returns its result."""
    results = []
    thread = threading.Thread(target=lambda: results.append(action()))
    thread.start()

    def result():
        thread.join(timeout=TIMEOUT)
        return results[0]

    yield result
    thread.join(timeout=TIMEOUT)


def wait_until_waiting(connection):
    """Wait until another connection waits for a lock."""
    sql = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
    wait_until(lambda: connection.execute(sql).fetchone()[0])


def test_a_stopped_server_is_answered_with_503(service, cluster):
    assert_healthy(service)
    with cluster.stopped():
        assert_unavailable(service.update_user_group(name="New"))
        assert_unavailable(service.create_bookmark(url=new_url()))
        assert_unavailable(list_bookmarks(service))
        ready = service.request("GET", "/readyz")
        assert (ready.status_code, ready.json()["errors"][0]["code"]) == (503, "service_unavailable")
        assert service.request("GET", "/livez").status_code == 200
    assert service.request("GET", "/readyz").status_code == 200
    assert_healthy(service)


def test_terminated_connections_are_replaced(service, cluster):
    for _ in range(3):
        assert_healthy(service)
        cluster.disconnect_all()
    assert_healthy(service)


def test_writes_to_a_read_only_server_are_answered_with_503(service, cluster):
    url = new_url()
    with cluster.read_only():
        assert_unavailable(service.create_bookmark(url=url))
        assert_unavailable(service.update_user_group(name="New"))
        assert list_bookmarks(service).status_code == 200
    assert service.create_bookmark(url=url).status_code == 201
    assert_healthy(service)


def test_a_server_without_free_connections_is_answered_with_503(service, cluster):
    with cluster.without_free_connections():
        assert_unavailable(service.create_bookmark(url=new_url()))
    assert_healthy(service)


def test_a_lock_timeout_is_answered_with_503(service, cluster):
    url = new_url()
    with cluster.connect() as other, other.transaction():
        other.execute("LOCK TABLE bookmarks_bookmark IN ACCESS EXCLUSIVE MODE")
        assert_unavailable(service.create_bookmark(url=url))
        assert service.update_user_group(name="Well").status_code == 200
    assert service.create_bookmark(url=url).status_code == 201


def test_a_statement_timeout_is_answered_with_503(service, cluster):
    url = new_url()
    cluster.execute(
        "CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(10); RETURN NEW; END'"
    )
    cluster.execute("CREATE TRIGGER slow BEFORE INSERT ON bookmarks_bookmark FOR EACH ROW EXECUTE FUNCTION slow()")
    try:
        assert_unavailable(service.create_bookmark(url=url))
    finally:
        cluster.execute("DROP FUNCTION slow CASCADE")
    assert service.create_bookmark(url=url).status_code == 201


def test_a_deadlock_is_retried(service, cluster):
    headers = {"Authorization": f"Token {service.api_token}"}
    items = [{"user_group_id": name, "name": "New"} for name in ("first", "second")]

    def put():
        return service.request("POST", "/api/users/batch", json={"user_groups": items}, headers=headers)

    assert put().status_code == 200
    lock = "SELECT 1 FROM usergroups_usergroup WHERE provided_id = %s FOR UPDATE"
    with cluster.connect() as other:
        other.execute("BEGIN")
        other.execute(
            "SET LOCAL deadlock_timeout = '600s'"
        )  # so that the service detects the deadlock and is its victim
        other.execute(lock, ["second"])
        cluster.execute("ALTER SYSTEM SET deadlock_timeout = '200ms'")
        cluster.execute("SELECT pg_reload_conf()")
        with cluster.connect() as onlooker, in_thread(put) as answer:
            wait_until_waiting(onlooker)
            other.execute(lock, ["first"])  # which the service has released, to retry
            other.execute("COMMIT")
            assert answer().status_code == 200
    assert_healthy(service)


def test_a_serialization_failure_is_retried(service, cluster):
    cluster.execute("ALTER DATABASE postgres SET default_transaction_isolation = 'repeatable read'")
    cluster.disconnect_all()
    try:
        assert_healthy(service)
        with cluster.connect() as other, cluster.connect() as onlooker:
            other.execute("BEGIN")
            other.execute("UPDATE usergroups_usergroup SET name = 'Theirs'")
            with in_thread(lambda: service.update_user_group(name="Mine")) as answer:
                wait_until_waiting(onlooker)
                other.execute("COMMIT")
                assert answer().json()["user_group"]["name"] == "Mine"  # retried
    finally:
        cluster.execute("ALTER DATABASE postgres RESET default_transaction_isolation")
        cluster.disconnect_all()
    assert_healthy(service)


def test_a_full_disk_is_answered_with_503(tmp_path):
    """The disk has room for the server and little more."""
    folder = Path(tempfile.gettempdir()) / f"disk_{uuid4().hex}"  # where the user of the server has access
    with (
        small_disk(folder, megabytes=160) as disk,
        Cluster(disk) as cluster,
        Service(tmp_path, cluster.url, **TIMEOUTS) as service,
    ):
        assert_healthy(service)
        with (disk / "filler").open("wb") as file, suppress(OSError):
            while True:
                file.write(b"x" * 65536)
        assert_unavailable(first_refusal(service))
        (disk / "filler").unlink()
        # The server may have to restart.
        wait_until(lambda: service.request("GET", "/readyz").status_code == 200)
        assert_healthy(service)


def test_faults_leak_no_connections(service, cluster):
    """One process with eight threads keeps at most one connection for each."""
    for _ in range(3):
        cluster.disconnect_all()
        assert_healthy(service)

    with cluster.connect() as connection:
        sql = "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
        assert connection.execute(sql).fetchone()[0] <= 8
        sql = "SELECT count(*) FROM pg_stat_activity WHERE state LIKE 'idle in transaction%%'"
        assert connection.execute(sql).fetchone()[0] == 0
