"""Clients that send or read slowly, or not at all, do not delay others.

The server gives a request a thread when its head is complete. Clients with a token that send a body slowly are left to
the proxy, which buffers it.
"""

import re
import signal
import socket
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager

import httpx
import pytest

from tests.bookmarks_service.nginx import NGINX, Nginx
from tests.bookmarks_service.service import Service, empty_database, writes_locked
from tests.servers import TIMEOUT, wait_until

pytestmark = pytest.mark.once

HEAD = "POST /v1/bookmarks HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
CLIENTS = 40  # five times as many as one process has threads

LONG, SHORT = 60_000, 1_000  # milliseconds that a client may take for a head
SOON = 30  # seconds, less than LONG


@contextmanager
def one_process(folder, time_for_head):
    variables = {"GRANIAN_WORKERS": "1", "GRANIAN_HTTP1_HEADER_READ_TIMEOUT": str(time_for_head)}
    with empty_database(folder) as database_url, Service(folder, database_url, **variables) as service:
        yield service


@pytest.fixture(scope="module")
def patient_service(tmp_path_factory):
    with one_process(tmp_path_factory.mktemp("patient"), LONG) as service:
        yield service


@pytest.fixture(scope="module")
def impatient_service(tmp_path_factory):
    with one_process(tmp_path_factory.mktemp("impatient"), SHORT) as service:
        yield service


@contextmanager
def slow_clients(service, data, count=CLIENTS):
    """Open connections that send ``data`` and then neither send nor read anything."""
    with ExitStack() as stack:
        for _ in range(count):
            client = stack.enter_context(socket.socket())
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)  # bytes, so that large answers do not fit
            client.connect(("127.0.0.1", service.port))
            client.sendall(data)
        yield


def assert_calls_are_fast(service):
    # Two calls, because the first one could be served before the others have arrived.
    for _ in range(2):
        headers = {"Authorization": f"Bearer {service.access_token}"}
        body = {"url": "https://example.com/slow"}
        response = httpx.post(f"{service.base_url}/v1/bookmarks", json=body, headers=headers, timeout=SOON)
        assert response.status_code in (200, 201)


def static_file(service):
    """Return the path of a large static file."""
    page = service.request("GET", "/docs/").text
    return re.search(r'"(/static/[^"]+swagger-ui-bundle[^"]+)"', page)[1]


STALLED = {
    "nothing": "",
    "a part of the head": f"{HEAD}X-A: b",
    "a part of a body without a token": f"{HEAD}Content-Length: 100\r\n\r\n{{",
    "a part of a chunked body without a token": f"{HEAD}Transfer-Encoding: chunked\r\n\r\n5\r\n{{",
    "requests for a page": "GET /schema/ HTTP/1.1\r\nHost: localhost\r\n\r\n" * 10,
    "requests in a row": "GET /v1/bookmarks HTTP/1.1\r\nHost: localhost\r\n\r\n" * 1000,
}


@pytest.mark.parametrize("sent", STALLED.values(), ids=STALLED)
def test_stalled_clients_do_not_delay_others(patient_service, sent):
    with slow_clients(patient_service, sent.encode()):
        assert_calls_are_fast(patient_service)


def test_unread_files_do_not_delay_others(patient_service):
    request = f"GET {static_file(patient_service)} HTTP/1.1\r\nHost: localhost\r\n\r\n" * 5

    with slow_clients(patient_service, request.encode()):
        assert_calls_are_fast(patient_service)


def test_more_idle_connections_than_a_process_accepts_are_closed(impatient_service):
    with slow_clients(impatient_service, b"", count=600):
        assert_calls_are_fast(impatient_service)


@pytest.mark.parametrize("data", [b"", f"{HEAD}X-A: b".encode()], ids=["nothing", "a part of the head"])
def test_a_stalled_head_closes_the_connection(impatient_service, data):
    with impatient_service.connect(data) as connection:
        assert connection.recv(1) == b""


@pytest.mark.skipif(NGINX is None, reason="nginx is not installed")
def test_stalled_bodies_of_callers_with_a_token_do_not_pass_the_proxy(patient_service, tmp_path):
    request = f"{HEAD}Authorization: Bearer {patient_service.access_token}\r\nContent-Length: 100\r\n\r\n{{"

    with Nginx(tmp_path, f"127.0.0.1:{patient_service.port}") as nginx, slow_clients(nginx, request.encode()):
        assert_calls_are_fast(patient_service)


def test_the_server_accepts_connections_and_serves_files_while_all_threads_wait_for_the_database(patient_service):
    """The service has eight threads, each with a connection to the database."""
    path, url = static_file(patient_service), "https://example.com/waits"
    with ThreadPoolExecutor(20) as pool:
        with writes_locked(patient_service.database_url):
            calls = [pool.submit(patient_service.create_bookmark, url=f"{url}/{n}") for n in range(20)]
            wait_until(lambda: patient_service.waiting_calls() >= 8)
            with patient_service.connect():
                assert patient_service.request("GET", path).status_code == 200
            assert not any(call.done() for call in calls)
        assert {call.result().status_code for call in calls} <= {201, 503}


def test_a_stop_does_not_wait_for_idle_connections(tmp_path):
    variables = {"GRANIAN_WORKERS": "1", "GRANIAN_WORKERS_KILL_TIMEOUT": str(TIMEOUT)}
    with (
        empty_database(tmp_path) as database_url,
        Service(tmp_path, database_url, **variables) as service,
        ExitStack() as stack,
    ):
        for kind in ("nothing", "a part of the head", "a part of a body without a token"):
            stack.enter_context(slow_clients(service, STALLED[kind].encode()))
        assert_calls_are_fast(service)
        service.process.send_signal(signal.SIGTERM)
        assert service.process.wait(timeout=TIMEOUT / 2) == 0


# Bodies that are not read


def refused_call(client, kind):
    headers = {"Content-Type": "application/json"}
    body = b"{}".ljust(70_000)
    calls = {
        401: ("POST", "/v1/bookmarks", body, {**headers, "Authorization": "Bearer x"}),
        404: ("POST", "/unknown", body, headers),
        405: ("PUT", "/v1/bookmarks", body, headers),
        413: ("POST", "/v1/bookmarks", b"{}".ljust(1_100_000), headers),
        415: ("POST", "/v1/bookmarks", body, {"Content-Type": "text/plain"}),
    }
    method, path, content, extra = calls[kind]
    return client.request(method, path, content=content, headers=extra)


@pytest.mark.parametrize("kind", [401, 404, 405, 413, 415])
def test_a_client_can_go_on_after_a_body_that_was_not_read(patient_service, kind):
    headers = {"Authorization": f"Bearer {patient_service.access_token}"}
    for _ in range(20):
        with httpx.Client(base_url=patient_service.base_url, headers=headers, timeout=TIMEOUT) as client:
            assert refused_call(client, kind).status_code == kind
            assert client.get("/v1/bookmarks").status_code == 200
