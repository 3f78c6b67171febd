"""Clients that send or read slowly, or not at all, do not delay others.

The server gives a request a thread when its head is complete. Clients with a token that send a body slowly are left to
the proxy, which buffers it.
"""

import socket
from contextlib import ExitStack, contextmanager

import pytest

from tests.bookmarks_service.service import Service, empty_database

pytestmark = pytest.mark.once

HEAD = "POST /v1/bookmarks HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
CLIENTS = 40  # five times as many as one process has threads

PATIENCE, SOON = "60000", 30
"""Milliseconds for which the service waits for a head, and fewer seconds, in which it must answer others meanwhile."""


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    folder = tmp_path_factory.mktemp("slow_clients")
    variables = {"GRANIAN_WORKERS": "1", "GRANIAN_HTTP1_HEADER_READ_TIMEOUT": PATIENCE}
    with empty_database(folder) as database_url, Service(folder, database_url, **variables) as running:
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


STALLED = {
    "nothing": "",
    "a part of the head": f"{HEAD}X-A: b",
    "a part of a body without a token": f"{HEAD}Content-Length: 100\r\n\r\n{{",
    "requests for a page": "GET /schema/ HTTP/1.1\r\nHost: localhost\r\n\r\n" * 10,
}


@pytest.mark.parametrize("sent", STALLED.values(), ids=STALLED)
def test_stalled_clients_do_not_delay_others(service, sent):
    with slow_clients(service, sent), service.client() as client:
        # Two calls, because the first one could be served before the others have arrived.
        for _ in range(2):
            response = client.post("/v1/bookmarks", json={"url": "https://example.com/slow"}, timeout=SOON)
            assert response.status_code in (200, 201)


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
    with service.client() as client:
        headers = {"Content-Type": "application/json", **headers}
        assert client.request(method, path, content=content, headers=headers).status_code == status
        assert client.get("/v1/bookmarks").status_code == 200
