"""Two hosts behind nginx, as docs/scaling.md describes them, with one PostgreSQL database and one Redis cache."""

import re
import signal
from collections import Counter
from contextlib import ExitStack

import pytest

from tests.bookmarks_service.nginx import NGINX, Nginx
from tests.bookmarks_service.service import REDIS, Service, manage, redis_server, secrets_in, writes_locked
from tests.bookmarks_service.test_nothing_is_lost import Load
from tests.servers import kill_server, wait_until

psycopg = pytest.importorskip("psycopg")
from tests.bookmarks_service.cluster import Cluster, binaries  # noqa: E402

pytestmark = [
    pytest.mark.once,
    pytest.mark.skipif(NGINX is None, reason="nginx is not installed"),
    pytest.mark.skipif(REDIS is None, reason="Redis is not installed"),
    pytest.mark.skipif(binaries() is None, reason="there is no PostgreSQL server to be started"),
]


class Host(Service):
    """The service on an address of its own, which is also the name of its database connections."""

    def __init__(self, folder, address, database_url, cache_url, **variables):
        super().__init__(
            folder, database_url, address=address, GRANIAN_HOST=address, PGAPPNAME=address, CACHE_URL=cache_url,
            HTTPS="1", SECRET_KEY="x" * 50, GRANIAN_WORKERS="2", **variables,
        )  # fmt: skip
        self.log = folder / f"{address}.log"

    def create_data(self):
        """The hosts share the data."""

    def answered(self, path):
        """Return how many requests with this path the host has answered since it was started."""
        return self.log.read_text().count(f'"path": "{path}"')


class Hosts:
    """Two hosts with one database and one cache behind nginx."""

    def __init__(self, folder, database_url, cache_url, secrets, **variables):
        self.database_url = database_url
        self.api_token, self.access_token, self.password = secrets
        addresses = ("127.0.0.2", "127.0.0.3")
        self.hosts = [Host(folder, address, database_url, cache_url, **variables) for address in addresses]
        self.nginx = Nginx(folder, *(f"{host.address}:{host.port}" for host in self.hosts))

    def __enter__(self):
        with ExitStack() as stack:
            for each in (*self.hosts, self.nginx):
                stack.enter_context(each)
            self.stack = stack.pop_all()
        return self

    def __exit__(self, *exc_info):
        self.stack.close()

    def client(self, address="127.0.0.1", **headers):
        """Return a client of nginx with the access token. ``address`` is its own."""
        return self.nginx.client(self, address, **headers)

    def stored_urls(self):
        with psycopg.connect(self.database_url) as connection:
            return {url for (url,) in connection.execute("SELECT url FROM bookmarks_bookmark")}

    def host_with_a_waiting_call(self):
        """Return a host with a call that waits for a lock of the database, or None."""
        sql = "SELECT min(application_name) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
        with psycopg.connect(self.database_url) as connection:
            [address] = connection.execute(sql).fetchone()
        return next((host for host in self.hosts if host.address == address), None)


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """Yield the URLs of a database and a cache that the hosts share, and the secrets in the database."""
    with Cluster() as cluster, redis_server(tmp_path_factory.mktemp("redis")) as cache_url:
        demo = manage("quickstart", "--no-serve", DATABASE_URL=cluster.url)
        assert demo.returncode == 0, demo.stderr
        yield cluster.url, cache_url, secrets_in(demo.stdout)


FEW_THREADS = {"GRANIAN_BLOCKING_THREADS": "2"}  # The database server of the tests accepts few connections.


@pytest.fixture(scope="module")
def fleet(shared, tmp_path_factory):
    with Hosts(tmp_path_factory.mktemp("hosts"), *shared, **FEW_THREADS) as running:
        yield running


def wait_for_calls(host):
    """Wait until nginx sends calls to this host."""
    before = host.answered("/v1/bookmarks")
    wait_until(lambda: host.answered("/v1/bookmarks") > before + 5)


def test_killing_a_host_loses_no_acknowledged_write(fleet):
    with Load(fleet) as load:
        load.wait_for(50)
        with writes_locked(fleet.database_url):
            wait_until(fleet.host_with_a_waiting_call)
            host = fleet.host_with_a_waiting_call()
            kill_server(host.process)
            wait_until(lambda: load.refused)
        load.wait_for(50)
        host.start()
        wait_for_calls(host)

    assert load.acknowledged <= fleet.stored_urls()


def test_deploying_a_host_anew_loses_no_acknowledged_write(fleet):
    host = fleet.hosts[1]
    with Load(fleet) as load:
        load.wait_for(50)
        host.stop()
        host.start()
        wait_for_calls(host)
        before = host.worker_pids()
        host.process.send_signal(signal.SIGHUP)
        host.wait_for_replacements(before)
        wait_for_calls(host)

    assert load.acknowledged <= fleet.stored_urls()


def log_in(client, password):
    token = re.search(r'csrfmiddlewaretoken" value="(\w+)"', client.get("/admin/login/").text)[1]
    fields = {"username": "operator", "password": password, "csrfmiddlewaretoken": token, "next": "/admin/"}
    return client.post("/admin/login/", data=fields, headers={"Referer": "https://localhost/admin/login/"})


def test_an_operator_is_logged_in_to_all_hosts(fleet):
    with fleet.client() as client:
        answer = log_in(client, fleet.password)
        cookies = dict(client.cookies)

    headers = {"Host": "localhost", "X-Forwarded-For": "127.0.0.1", "X-Forwarded-Proto": "https"}
    pages = [host.request("GET", "/admin/", cookies=cookies, headers=headers) for host in fleet.hosts]
    assert answer.status_code == 302
    assert [page.status_code for page in pages] == [200, 200]


def test_hosts_count_failed_logins_together(fleet):
    with fleet.client("127.0.0.5") as client:
        statuses = [log_in(client, "wrong").status_code for _ in range(10)]
        at_last = log_in(client, fleet.password).status_code

    assert statuses == [200] * 9 + [429]
    assert at_last == 429
    assert all(host.answered("/admin/login/") for host in fleet.hosts)


@pytest.fixture(scope="module")
def limited(shared, tmp_path_factory):
    limits = {"USERGROUPS_CALL_RATE": "20/day", "USERGROUPS_FAILURE_RATE": "6/day"}
    with Hosts(tmp_path_factory.mktemp("limited"), *shared, **FEW_THREADS, **limits) as running:
        yield running


@pytest.mark.parametrize(
    ("path", "headers", "statuses"),
    [
        ("/v1/bookmarks", {}, {200: 20, 429: 10}),
        ("/v1/collections", {"Authorization": "Bearer x"}, {401: 6, 429: 24}),
    ],
    ids=["calls of a token", "failed authentications"],
)
def test_hosts_count_calls_together(limited, path, headers, statuses):
    with limited.client(**headers) as client:
        counted = Counter(client.get(path).status_code for _ in range(30))

    assert counted == statuses
    assert all(host.answered(path) for host in limited.hosts)
