"""Clients that send or read slowly, or not at all, do not delay others, and are disconnected after a while.

The service runs with one of two time limits for stalled clients: LONG, so that a call that waited for them would take
too long, and SHORT, to see what happens at the end of the time.
"""

import shutil
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import httpx
import pytest

from tests.bookmarks_service.service import ROOT, Service, empty_database, environment, writes_locked
from tests.servers import TIMEOUT, free_port, listens, running_server, wait_until

pytestmark = pytest.mark.once

HEAD = "POST /v1/bookmarks HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
CLIENTS = 40  # five times as many as one process has threads

LONG, SHORT = 400, 1  # seconds
SOON = 100  # seconds, less than LONG

WORKER = "--worker-class=tests.bookmarks_service.worker.Worker"


@contextmanager
def one_process(folder, stalled):
    variables = {"WEB_CONCURRENCY": "1", "GUNICORN_CMD_ARGS": WORKER, "STALLED": str(stalled)}
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


def authorized(service, head=HEAD):
    return f"{head}Authorization: Bearer {service.access_token}\r\n"


@contextmanager
def slow_clients(service, data, count=CLIENTS):
    """Open connections that send ``data`` and then nothing."""
    with ExitStack() as stack:
        yield [stack.enter_context(service.connect(data)) for _ in range(count)]


def received(connection):
    """Return all that the service sends until it closes the connection."""
    answer = b""
    with suppress(ConnectionResetError):
        while data := connection.recv(65536):
            answer += data
    return answer


def seconds_of_calls(service, count=1):
    start = time.monotonic()
    for _ in range(count):
        assert service.create_bookmark(url="https://example.com/slow").status_code in (200, 201)
    return time.monotonic() - start


def slow_requests(token):
    authorized_head = f"{HEAD}Authorization: Bearer {token}\r\n"
    return {
        "nothing": "",
        "a part of the head": f"{HEAD}X-A: b",
        "a part of a body": f"{authorized_head}Content-Length: 100\r\n\r\n{{",
        "a part of a body without a token": f"{HEAD}Content-Length: 100\r\n\r\n{{",
        "a part of a large body": f"{authorized_head}Content-Length: 900000\r\n\r\n{{",
        "a part of a chunked body": f"{authorized_head}Transfer-Encoding: chunked\r\n\r\n5\r\n{{",
        "no body after 100-continue": f"{authorized_head}Content-Length: 100\r\nExpect: 100-continue\r\n\r\n",
        "a part of a login form": (
            "POST /admin/login/ HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\n"
            f"Cookie: csrftoken={'a' * 32}\r\nTransfer-Encoding: chunked\r\n\r\n5\r\na"
        ),
        "a request without reading the answer": "GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
    }


@pytest.mark.parametrize("sent", slow_requests(token=""))
def test_stalled_clients_do_not_delay_others(patient_service, sent):
    request = slow_requests(patient_service.access_token)[sent]

    with slow_clients(patient_service, request.encode()):
        # Two calls, because the first one could be served before the others have arrived.
        assert seconds_of_calls(patient_service, 2) < SOON


def test_surplus_idle_connections_do_not_delay_others(patient_service):
    """There are more than one process accepts at a time."""
    with slow_clients(patient_service, b"", count=600):
        assert seconds_of_calls(patient_service) < SOON


def test_unread_files_do_not_delay_others(patient_service):
    path = "/static/drf_spectacular_sidecar/swagger-ui-dist/swagger-ui-bundle.js"
    request = f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()

    with ExitStack() as stack:
        for _ in range(CLIENTS):
            client = stack.enter_context(socket.socket())
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)  # bytes, so that the file does not fit
            client.connect(("127.0.0.1", patient_service.port))
            client.sendall(request)
        assert seconds_of_calls(patient_service, 2) < SOON


@pytest.mark.parametrize("body", ["Content-Length: 100\r\n\r\n{", "Transfer-Encoding: chunked\r\n\r\n5\r\n{"])
def test_stalled_bodies_are_answered_with_400(impatient_service, body):
    with impatient_service.connect((authorized(impatient_service) + body).encode()) as connection:
        assert received(connection).startswith(b"HTTP/1.1 400 ")


@pytest.mark.parametrize("data", [b"", f"{HEAD}X-A: b".encode()], ids=["nothing", "a part of the head"])
def test_a_stalled_head_closes_the_connection(impatient_service, data):
    with impatient_service.connect(data) as connection:
        assert received(connection) == b""


def send_single_bytes(connection):
    """Send a byte ten times in the time that a client may stall, 1,000 times at the most."""
    for _ in range(1000):
        time.sleep(SHORT / 10)
        connection.sendall(b"b")


@pytest.mark.parametrize("head", [f"{HEAD}X-A: ", f"{HEAD}Content-Length: 1000\r\n\r\n"], ids=["head", "body"])
def test_single_bytes_do_not_extend_the_timeout(impatient_service, head):
    with (
        impatient_service.connect(head.encode()) as connection,
        pytest.raises((ConnectionResetError, BrokenPipeError)),
    ):
        send_single_bytes(connection)


@pytest.fixture(scope="module")
def with_a_large_list(impatient_service):
    """Fill the first page with more than any socket buffers: 200 bookmarks of 32 kB each."""
    token = {"Authorization": f"Bearer {impatient_service.access_token}"}
    for start in (0, 100):
        items = [
            {"url": f"https://example.com/{n}?".ljust(7900, "\N{GRINNING FACE}")} for n in range(start, start + 100)
        ]
        response = impatient_service.request("POST", "/v1/bookmarks/batch", json={"bookmarks": items}, headers=token)
        assert response.status_code == 200
    return impatient_service


def request_large_list(service):
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
    connection.settimeout(TIMEOUT)
    connection.connect(("127.0.0.1", service.port))
    connection.sendall(authorized(service, "GET /v1/bookmarks?limit=200 HTTP/1.1\r\nHost: localhost\r\n").encode())
    connection.sendall(b"Connection: close\r\n\r\n")
    return connection


def test_a_large_answer_may_be_read_slowly(with_a_large_list):
    """Reading takes longer than a client may stall."""
    with request_large_list(with_a_large_list) as connection:
        start, answer = time.monotonic(), b""
        while data := connection.recv(65536):
            answer += data
            time.sleep(max(0, start + len(answer) / 2_000_000 - time.monotonic()))

    head, _, body = answer.partition(b"\r\n\r\n")
    assert time.monotonic() - start > 2 * SHORT
    assert f"Content-Length: {len(body)}".encode() in head
    assert len(body) > 6_000_000


def is_open_at_the_service(connection):
    """Return whether the service has not yet closed its side, which the client does not see before all other data."""
    ports = connection.getpeername()[1], connection.getsockname()[1]
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    [state] = [row[3] for row in rows if tuple(int(address[-4:], 16) for address in row[1:3]) == ports]
    return state == "01"  # established


def test_an_unread_answer_is_aborted(with_a_large_list):
    with request_large_list(with_a_large_list) as connection:
        wait_until(lambda: not is_open_at_the_service(connection))
        assert len(received(connection)) < 6_000_000
    assert "Socket error" not in with_a_large_list.log.read_text()


def test_livez_answers_while_all_threads_wait_for_the_database(patient_service):
    """The service has eight threads, each with a connection to the database."""
    url = "https://example.com/waits"
    with ThreadPoolExecutor(20) as pool:
        with writes_locked(patient_service.database_url):
            calls = [pool.submit(patient_service.create_bookmark, url=f"{url}/{n}") for n in range(20)]
            wait_until(lambda: patient_service.waiting_calls() >= 8)
            statuses = [patient_service.request("GET", "/livez").status_code for _ in range(10)]
            assert not any(call.done() for call in calls)
        assert statuses == [200] * 10
        assert {call.result().status_code for call in calls} <= {201, 503}


def test_a_stop_does_not_wait_for_idle_connections(tmp_path):
    """gunicorn would kill the process after 400 seconds."""
    # A second process might not have installed its signal handlers yet, and would never get the signal.
    variables = {"WEB_CONCURRENCY": "1", "GUNICORN_CMD_ARGS": "--graceful-timeout=400"}
    with (
        empty_database(tmp_path) as database_url,
        Service(tmp_path, database_url, **variables) as service,
        slow_clients(service, b""),
        slow_clients(service, f"{HEAD}X-A: b".encode()),
        slow_clients(service, f"{HEAD}Content-Length: 100\r\n\r\n{{".encode()),
    ):
        service.process.send_signal(signal.SIGTERM)
        assert service.process.wait(timeout=SOON) == 0


# TLS without a proxy


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    if not shutil.which("openssl"):
        pytest.skip("There is no openssl command to make a certificate.")
    folder = tmp_path_factory.mktemp("tls")
    files = ["-keyout", folder / "key.pem", "-out", folder / "cert.pem"]
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=localhost"]
    subprocess.run([*command, *files], check=True, capture_output=True)
    return folder


@contextmanager
def tls_server(folder, stalled):
    """Serve with TLS and without a database. Yield the port."""
    port = free_port()
    arguments = f"{WORKER} --bind=127.0.0.1:{port} --certfile={folder}/cert.pem --keyfile={folder}/key.pem"
    variables = environment(SECRET_KEY="x", WEB_CONCURRENCY="1", GUNICORN_CMD_ARGS=arguments, STALLED=str(stalled))
    command = [sys.executable, "-m", "gunicorn", "-c", "bookmarks_service/gunicorn.conf.py"]
    with running_server(command, folder / f"log_{port}", lambda: listens(port), cwd=ROOT, env=variables):
        yield port


@pytest.fixture(scope="module")
def patient_tls_port(certificate):
    with tls_server(certificate, LONG) as port:
        yield port


@pytest.fixture(scope="module")
def impatient_tls_port(certificate):
    with tls_server(certificate, SHORT) as port:
        yield port


HANDSHAKES = pytest.mark.parametrize(
    "data", [b"", b"\x16\x03\x01\x02\x00\x01", b"GET / HTTP/1.1\r\n\r\n"], ids=["nothing", "a part", "no TLS"]
)


@HANDSHAKES
def test_stalled_tls_handshakes_do_not_delay_others(patient_tls_port, data):
    with ExitStack() as stack:
        for _ in range(CLIENTS):
            connection = stack.enter_context(socket.create_connection(("127.0.0.1", patient_tls_port), timeout=TIMEOUT))
            connection.sendall(data)
        with httpx.Client(verify=False, timeout=SOON) as client:
            statuses = [client.get(f"https://127.0.0.1:{patient_tls_port}/livez").status_code for _ in range(3)]

    assert statuses == [200] * 3


@HANDSHAKES
def test_a_stalled_tls_handshake_closes_the_connection(impatient_tls_port, data):
    with socket.create_connection(("127.0.0.1", impatient_tls_port), timeout=TIMEOUT) as connection:
        connection.sendall(data)
        assert b"HTTP" not in received(connection)


def test_an_early_answer_to_a_large_body_arrives_over_tls(patient_tls_port):
    with httpx.Client(verify=False, timeout=TIMEOUT) as client:
        response = client.post(f"https://127.0.0.1:{patient_tls_port}/livez", content=b" " * 3_000_000)

    assert response.status_code == 405
