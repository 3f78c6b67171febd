"""Clients that send or read slowly, or not at all, do not delay others.

The server gives a request a thread when its head is complete. Clients with a token that send a body slowly are left to
the proxy, which buffers it.
"""

import re
import socket
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager

import pytest

from tests.bookmarks_service.nginx import NGINX, Nginx
from tests.bookmarks_service.service import Service, empty_database, writes_locked
from tests.servers import wait_until

pytestmark = pytest.mark.once

HEAD = "POST /v1/bookmarks HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
CLIENTS = 40  # five times as many as one process has threads

PATIENCE, SOON = 60, 30
"""Seconds for which the service waits for a head, and less, in which it must answer other clients meanwhile."""


@contextmanager
def one_process(folder, milliseconds_for_head):
    variables = {"GRANIAN_WORKERS": "1", "GRANIAN_HTTP1_HEADER_READ_TIMEOUT": str(milliseconds_for_head)}
    with empty_database(folder) as database_url, Service(folder, database_url, **variables) as service:
        yield service


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    with one_process(tmp_path_factory.mktemp("slow_clients"), PATIENCE * 1000) as running:
        yield running


@contextmanager
def slow_clients(service, data):
    """Open connections that send ``data`` and then neither send nor read anything."""
    with ExitStack() as stack:
        for _ in range(CLIENTS):
            client = stack.enter_context(socket.socket())
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)  # bytes, so that large answers do not fit
            client.connect(("127.0.0.1", service.port))
            client.sendall(data.encode())
        yield


def assert_calls_are_answered(service):
    # Two calls, because the first one could be served before the others have arrived.
    for _ in range(2):
        with service.client() as client:
            response = client.post("/v1/bookmarks", json={"url": "https://example.com/slow"}, timeout=SOON)
        assert response.status_code in (200, 201)


STALLED = {
    "nothing": "",
    "a part of the head": f"{HEAD}X-A: b",
    "a part of a body without a token": f"{HEAD}Content-Length: 100\r\n\r\n{{",
    "requests for a page": "GET /schema/ HTTP/1.1\r\nHost: localhost\r\n\r\n" * 10,
}


@pytest.mark.parametrize("sent", STALLED.values(), ids=STALLED)
def test_stalled_clients_do_not_delay_others(service, sent):
    with slow_clients(service, sent):
        assert_calls_are_answered(service)


@pytest.mark.skipif(NGINX is None, reason="nginx is not installed")
def test_stalled_bodies_of_callers_with_a_token_do_not_pass_the_proxy(service, tmp_path):
    request = f"{HEAD}Authorization: Bearer {service.access_token}\r\nContent-Length: 100\r\n\r\n{{"

    with Nginx(tmp_path, f"127.0.0.1:{service.port}") as nginx, slow_clients(nginx, request):
        assert_calls_are_answered(service)


def test_a_stalled_head_closes_the_connection(tmp_path):
    with one_process(tmp_path, 1000) as service, service.connect(f"{HEAD}X-A: b".encode()) as connection:
        assert connection.recv(1) == b""


def test_the_server_serves_files_while_all_threads_wait_for_the_database(service):
    """The service has eight threads, each with a connection to the database."""
    page = service.request("GET", "/docs/").text
    path = re.search(r'"(/static/[^"]+swagger-ui-bundle[^"]+)"', page)[1]
    with ThreadPoolExecutor(20) as pool:
        with writes_locked(service.database_url):
            calls = [pool.submit(service.create_bookmark, url=f"https://example.com/{n}") for n in range(20)]
            wait_until(lambda: service.waiting_calls() >= 8)
            assert service.request("GET", path).status_code == 200
            assert not any(call.done() for call in calls)
        assert {call.result().status_code for call in calls} <= {201, 503}


BODY = b"{}".ljust(70_000)
REFUSED = {
    401: ("POST", "/v1/bookmarks", BODY, {"Authorization": "Bearer x"}),
    404: ("POST", "/unknown", BODY, {}),
    405: ("PUT", "/v1/bookmarks", BODY, {}),
    413: ("POST", "/v1/bookmarks", b"{}".ljust(1_100_000), {}),
    415: ("POST", "/v1/bookmarks", BODY, {"Content-Type": "text/plain"}),
}


@pytest.mark.parametrize("status", REFUSED)
def test_a_client_can_go_on_after_a_body_that_was_not_read(service, status):
    method, path, content, headers = REFUSED[status]
    for _ in range(3):
        with service.client() as client:
            headers = {"Content-Type": "application/json", **headers}
            assert client.request(method, path, content=content, headers=headers).status_code == status
            assert client.get("/v1/bookmarks").status_code == 200
