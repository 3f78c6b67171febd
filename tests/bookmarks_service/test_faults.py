"""The answers to faults of PostgreSQL, which the tests cause on a server of their own."""

from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

import pytest

from tests.answers import error_code
from tests.bookmarks_service.service import Service
from tests.servers import wait_until

psycopg = pytest.importorskip("psycopg")
from tests.bookmarks_service.cluster import Cluster, needs_postgresql  # noqa: E402

pytestmark = [pytest.mark.once, needs_postgresql]

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


def test_a_stopped_server_is_answered_with_503(service, cluster):
    with cluster.stopped():
        assert_unavailable(service.create_bookmark(url=new_url()))
        assert_unavailable(list_bookmarks(service))
        assert_unavailable(service.request("GET", "/readyz"))
        assert service.request("GET", "/livez").status_code == 200
    assert service.request("GET", "/readyz").status_code == 200
    assert_healthy(service)


def test_writes_to_a_read_only_server_are_answered_with_503(service, cluster):
    with cluster.read_only():
        assert_unavailable(service.create_bookmark(url=new_url()))
        assert_unavailable(service.update_user_group(name="New"))
        assert list_bookmarks(service).status_code == 200
    assert_healthy(service)


def test_a_server_without_free_connections_is_answered_with_503(service, cluster):
    with cluster.without_free_connections():
        assert_unavailable(service.create_bookmark(url=new_url()))
    assert_healthy(service)


def test_a_lock_timeout_is_answered_with_503(service, cluster):
    with cluster.connect() as other, other.transaction():
        other.execute("LOCK TABLE bookmarks_bookmark IN ACCESS EXCLUSIVE MODE")
        assert_unavailable(service.create_bookmark(url=new_url()))
        assert service.update_user_group(name="Well").status_code == 200
    assert_healthy(service)


def test_a_statement_timeout_is_answered_with_503(service, cluster):
    cluster.execute(
        "CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(600); RETURN NEW; END'"
    )
    cluster.execute("CREATE TRIGGER slow BEFORE INSERT ON bookmarks_bookmark FOR EACH ROW EXECUTE FUNCTION slow()")

    response = service.create_bookmark(url=new_url())

    cluster.execute("DROP FUNCTION slow CASCADE")
    assert_unavailable(response)
    assert_healthy(service)


def test_a_serialization_failure_is_retried(service, cluster):
    cluster.execute("ALTER DATABASE postgres SET default_transaction_isolation = 'repeatable read'")
    cluster.disconnect_all()
    assert_healthy(service)

    waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
    with cluster.connect() as other, cluster.connect() as onlooker, ThreadPoolExecutor(1) as pool:
        other.execute("BEGIN")
        other.execute("UPDATE usergroups_usergroup SET name = 'Theirs'")
        call = pool.submit(service.update_user_group, name="Mine")
        wait_until(lambda: onlooker.execute(waiting).fetchone()[0])
        other.execute("COMMIT")
        assert call.result().json()["user_group"]["name"] == "Mine"

    cluster.execute("ALTER DATABASE postgres RESET default_transaction_isolation")
    cluster.disconnect_all()


def test_terminated_connections_are_replaced_and_none_is_leaked(service, cluster):
    """One process with eight threads keeps at most one connection for each."""
    cluster.disconnect_all()
    for _ in range(20):
        assert_healthy(service)

    with cluster.connect() as connection:
        sql = "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
        assert connection.execute(sql).fetchone()[0] <= 8
        sql = "SELECT count(*) FROM pg_stat_activity WHERE state LIKE 'idle in transaction%%'"
        assert connection.execute(sql).fetchone()[0] == 0
