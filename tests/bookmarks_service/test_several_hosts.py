"""Two hosts behind nginx, as docs/deploy.md describes them, with one PostgreSQL database and one Redis cache."""

import re
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from tests.answers import error_code
from tests.bookmarks_service.hosts import REDIS, Hosts, redis_server
from tests.bookmarks_service.nginx import NGINX
from tests.servers import TIMEOUT, wait_until

psycopg = pytest.importorskip("psycopg")
from tests.bookmarks_service.cluster import Cluster, binaries  # noqa: E402
from tests.bookmarks_service.service import manage, secrets_in, writes_locked  # noqa: E402

pytestmark = [
    pytest.mark.once,
    pytest.mark.skipif(NGINX is None, reason="nginx is not installed"),
    pytest.mark.skipif(REDIS is None, reason="Redis is not installed"),
    pytest.mark.skipif(binaries() is None, reason="there is no PostgreSQL server to be started"),
]

SETTINGS = {"GRANIAN_BLOCKING_THREADS": "2"}  # The database server of the tests accepts few connections.


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """Yield the URLs of a database and a cache that the hosts share, and the secrets in the database."""
    with Cluster() as cluster, redis_server(tmp_path_factory.mktemp("redis")) as cache_url:
        demo = manage("quickstart", "--no-serve", DATABASE_URL=cluster.url)
        assert demo.returncode == 0, demo.stderr
        yield cluster.url, cache_url, secrets_in(demo.stdout)


@pytest.fixture(scope="module")
def fleet(shared, tmp_path_factory):
    with Hosts(tmp_path_factory.mktemp("hosts"), *shared, **SETTINGS) as running:
        yield running


class Callers:
    """Callers that create bookmarks and update user groups through nginx until the block ends.

    Each one repeats a call until it is acknowledged, and checks every answer.
    """

    CREATING, UPDATING, MAX_CALLS = 4, 2, 5_000

    def __init__(self, hosts):
        self.hosts = hosts
        self.acknowledged, self.updates, self.statuses = [], {}, Counter()
        self.stopped = threading.Event()

    def __enter__(self):
        self.pool = ThreadPoolExecutor(self.CREATING + self.UPDATING)
        calls = [*[self.create] * self.CREATING, *[self.update] * self.UPDATING]
        self.futures = [self.pool.submit(call, number) for number, call in enumerate(calls)]
        return self

    def __exit__(self, *exc_info):
        self.stop()

    def stop(self):
        """End the calls. Raises what a caller raised."""
        self.stopped.set()
        for future in self.futures:
            future.result(timeout=TIMEOUT)
        self.pool.shutdown()

    def numbers(self):
        return (n for n in range(self.MAX_CALLS) if not self.stopped.is_set())

    def create(self, number):
        with self.hosts.client() as client:
            for n in self.numbers():
                url = f"https://example.com/{id(self)}/{number}/{n}"
                answer = self.repeat(client.post, "/v1/bookmarks", {"url": url})
                assert answer["bookmark"]["url"] == url
                self.acknowledged.append(url)

    def update(self, number):
        group = f"{id(self)}-{number}"
        with self.hosts.client(Authorization=f"Token {self.hosts.api_token}") as client:
            self.repeat(client.post, "/api/user", {"user_group_id": group, "name": "Example"})
            for n in self.numbers():
                answer = self.repeat(client.put, "/api/user", {"user_group_id": group, "properties": {"n": n}})
                assert answer["user_group"]["properties"] == {"n": n}
                self.updates[group] = n

    def repeat(self, method, path, body):
        """Make a call until it succeeds, and return the answer.

        An answer is incomplete if the host is killed while nginx passes it on.
        """
        while True:
            try:
                response = method(path, json=body)
            except httpx.RemoteProtocolError as error:
                self.statuses[type(error)] += 1
                continue
            self.statuses[response.status_code] += 1
            if response.status_code in (200, 201):
                assert response.headers["Cache-Control"] == "no-store"
                assert response.json()["success"] == 1
                return response.json()
            assert response.status_code in (502, 503)
            assert error_code(response, response.status_code) == "service_unavailable"
            assert int(response.headers["Retry-After"]) > 0
            time.sleep(0.05)

    def wait_for(self, count):
        """Wait until this number of further bookmarks is created, and each group is updated."""
        goal, updates = len(self.acknowledged) + count, dict(self.updates)
        wait_until(lambda: self.is_over() or (len(self.acknowledged) >= goal and self.updates != updates))
        assert not self.is_over()

    def is_over(self):
        """Return whether a caller has failed or made its last call."""
        return any(future.done() for future in self.futures)

    def wait_for_host(self, host):
        """Wait until nginx sends calls to this host."""
        before = host.answered("/v1/bookmarks")
        wait_until(lambda: self.is_over() or host.answered("/v1/bookmarks") > before + 5)

    def assert_everything_is_stored(self):
        found, path = [], "/v1/bookmarks?limit=200&q=" + str(id(self))
        with self.hosts.client() as client:
            while path:
                page = client.get(path).json()
                found += [bookmark["url"] for bookmark in page["bookmarks"]]
                path = page["next"] and page["next"].removeprefix("https://localhost")
        assert sorted(found) == sorted(self.acknowledged)
        with self.hosts.client(Authorization=f"Token {self.hosts.api_token}") as client:
            for group, n in self.updates.items():
                answer = client.get("/api/user", params={"user_group_id": group})
                assert answer.json()["user_group"]["properties"] == {"n": n}


def host_with_a_waiting_call(hosts):
    """Return a host with a call that waits for a lock of the database, or None."""
    sql = "SELECT min(application_name) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
    with psycopg.connect(hosts.database_url) as connection:
        name = connection.execute(sql).fetchone()[0]
    return next((host for host in hosts.hosts if host.address == name), None)


def test_killing_a_host_loses_no_acknowledged_write(fleet):
    with Callers(fleet) as callers:
        callers.wait_for(50)
        with writes_locked(fleet.database_url):
            wait_until(lambda: host_with_a_waiting_call(fleet))
            host = host_with_a_waiting_call(fleet)
            host.kill()
            wait_until(lambda: callers.statuses[502])
        callers.wait_for(50)
        host.start()
        callers.wait_for_host(host)
        callers.stop()

    callers.assert_everything_is_stored()


def redeploy(host):
    host.stop()
    host.start()


def reload(host):
    before = host.worker_pids()
    host.reload()
    wait_until(lambda: before.isdisjoint(host.worker_pids()))


@pytest.mark.parametrize("deploy", [redeploy, reload])
def test_deploying_a_host_anew_loses_no_acknowledged_write(fleet, deploy):
    """A call that arrives just when a worker stops may get a 502, and is repeated."""
    with Callers(fleet) as callers:
        callers.wait_for(50)
        deploy(fleet.hosts[1])
        callers.wait_for_host(fleet.hosts[1])
        callers.stop()

    assert callers.statuses.keys() <= {200, 201, 502}
    callers.assert_everything_is_stored()


def log_in(client, password):
    token = re.search(r'csrfmiddlewaretoken" value="(\w+)"', client.get("/admin/login/").text)[1]
    fields = {"username": "operator", "password": password, "csrfmiddlewaretoken": token, "next": "/admin/"}
    return client.post("/admin/login/", data=fields, headers={"Referer": "https://localhost/admin/login/"})


def test_an_operator_is_logged_in_to_all_hosts(fleet):
    with fleet.client() as client:
        answer = log_in(client, fleet.password)
        cookies = dict(client.cookies)

    pages = [host.request("GET", "/admin/", cookies=cookies) for host in fleet.hosts]
    assert answer.status_code == 302
    assert [page.status_code for page in pages] == [200, 200]


def test_hosts_count_failed_logins_together(fleet):
    before = [host.answered("/admin/login/") for host in fleet.hosts]
    with fleet.client("127.0.0.5") as client:
        statuses = [log_in(client, "wrong").status_code for _ in range(10)]
        at_last = log_in(client, fleet.password).status_code

    assert statuses == [200] * 9 + [429]
    assert at_last == 429
    assert all(host.answered("/admin/login/") > n for host, n in zip(fleet.hosts, before, strict=True))


@pytest.fixture(scope="module")
def limited(shared, tmp_path_factory):
    limits = {"USERGROUPS_CALL_RATE": "20/day", "USERGROUPS_FAILURE_RATE": "6/day"}
    with Hosts(tmp_path_factory.mktemp("limited"), *shared, **SETTINGS, **limits) as running:
        yield running


def test_hosts_count_the_calls_of_a_token_together(limited):
    with limited.client() as client:
        statuses = Counter(client.get("/v1/bookmarks").status_code for _ in range(30))

    assert statuses == {200: 20, 429: 10}
    assert all(host.answered("/v1/bookmarks") for host in limited.hosts)


def test_hosts_count_failed_authentications_together(limited):
    with limited.client(Authorization="Bearer x") as client:
        statuses = Counter(client.get("/v1/collections").status_code for _ in range(12))

    assert statuses == {401: 6, 429: 6}
    assert all(host.answered("/v1/collections") for host in limited.hosts)
