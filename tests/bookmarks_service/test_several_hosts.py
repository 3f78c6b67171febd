"""Two hosts with one database and one cache, as docs/scaling.md describes
them.
"""

from collections import Counter
from contextlib import ExitStack, contextmanager

import pytest

from tests.bookmarks_service.service import Service, empty_database
from tests.programs import find, needs
from tests.servers import free_port, listens, running_server

pytestmark = [pytest.mark.database_independent, needs("redis-server")]

LIMITS = {
    "USERGROUPS_CALL_RATE": "20/day",
    "USERGROUPS_FAILURE_RATE": "6/day",
    "GRANIAN_WORKERS": "1",
}


@contextmanager
def redis_server(folder):
    """Run a Redis server that stores nothing on disk, and yield its CACHE_URL."""
    port = free_port()
    options = [
        "--bind",
        "127.0.0.1",
        "--port",
        str(port),
        "--save",
        "",
        "--appendonly",
        "no",
    ]
    command = [find("redis-server"), *options, "--dir", folder]
    with running_server(command, folder / "redis.log", lambda: listens(port)):
        yield f"redis://127.0.0.1:{port}/0"


@pytest.fixture(scope="module")
def hosts(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hosts")
    with ExitStack() as stack:
        variables = {"CACHE_URL": stack.enter_context(redis_server(folder)), **LIMITS}
        database_url = stack.enter_context(empty_database(folder))
        first = stack.enter_context(Service(folder, database_url, **variables))
        second = stack.enter_context(first.another_host(folder))
        yield first, second


def log_in(service, password):
    """Send the form of the login page as the operator, and return the response
    with all cookies of the client.
    """
    with service.client() as client:
        client.get("/admin/login/")
        token = client.cookies["csrftoken"]
        fields = {
            "username": "operator",
            "password": password,
            "csrfmiddlewaretoken": token,
            "next": "/admin/",
        }
        response = client.post("/admin/login/", data=fields)
        response.cookies.update(client.cookies)
        return response


@pytest.mark.parametrize(
    ("path", "token", "statuses"),
    [
        ("/v1/bookmarks", "valid", {200: 20, 429: 10}),
        ("/v1/collections", "invalid", {401: 6, 429: 24}),
    ],
    ids=["calls of a token", "failed authentications"],
)
def test_hosts_count_calls_together(hosts, path, token, statuses):
    tokens = {"valid": hosts[0].access_token, "invalid": "x"}
    headers = {"Authorization": f"Bearer {tokens[token]}"}

    answers = [
        hosts[number % 2].request("GET", path, headers=headers) for number in range(30)
    ]

    assert Counter(answer.status_code for answer in answers) == statuses


def test_hosts_count_failed_logins_together(hosts):
    statuses = [log_in(hosts[number % 2], "wrong").status_code for number in range(10)]

    assert statuses == [200] * 9 + [429]
    assert [log_in(host, host.password).status_code for host in hosts] == [429, 429]
