"""Clients that send or read slowly, or not at all, do not keep others waiting.

The time limits in these tests are generous: what they exclude is waiting for the slow clients, who stay for the whole
test or until the service ends their connections.
"""

import shutil
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress

import httpx
import pytest

from bookmarks_service.arriving_request import MAX_HEAD, SMALL_REQUEST, ArrivingRequest, HeadTooLong
from tests.bookmarks_service.service import ROOT, Service, empty_database, environment
from tests.bookmarks_service.test_nothing_is_lost import nobody_can_write
from tests.servers import TIMEOUT, free_port, listens, start_server, stop_server

pytestmark = pytest.mark.once

HEAD = "POST /v1/bookmarks HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
CLIENTS = 40  # five times as many as one process has threads


@pytest.fixture(scope="module")
def one_process(tmp_path_factory):
    folder = tmp_path_factory.mktemp("one_process")
    with (
        empty_database(folder) as database_url,
        Service(folder, database_url, WEB_CONCURRENCY="1") as service,
    ):
        yield service


def authorized(service, head=HEAD):
    return f"{head}Authorization: Bearer {service.access_token}\r\n"


@contextmanager
def slow_clients(service, data, count=CLIENTS):
    with ExitStack() as stack:
        yield [stack.enter_context(service.connect(data)) for _ in range(count)]


def received(connection):
    """Return all that the service sends until it closes the connection."""
    answer = b""
    with suppress(ConnectionResetError):
        while data := connection.recv(65536):
            answer += data
    return answer


def seconds_of_a_call(service):
    start = time.monotonic()
    assert service.create_bookmark(url="https://example.com/slow").status_code in (200, 201)
    return time.monotonic() - start


def slow_requests(service):
    token = authorized(service)
    return {
        "nothing": "",
        "a part of the head": f"{HEAD}X-A: b",
        "a part of a body": f"{token}Content-Length: 100\r\n\r\n{{",
        "a part of a body without a token": f"{HEAD}Content-Length: 100\r\n\r\n{{",
        "a part of a large body": f"{token}Content-Length: 900000\r\n\r\n{{",
        "a part of a chunked body": f"{token}Transfer-Encoding: chunked\r\n\r\n5\r\n{{",
        "no body after 100-continue": f"{token}Content-Length: 100\r\nExpect: 100-continue\r\n\r\n",
        "a part of a login form": (
            "POST /admin/login/ HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\n"
            f"Cookie: csrftoken={'a' * 32}\r\nTransfer-Encoding: chunked\r\n\r\n5\r\na"
        ),
        "the end of no connection": "GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
    }


@pytest.mark.parametrize("sent", slow_requests(type("Nobody", (), {"access_token": ""})))
def test_stalled_clients_do_not_delay_others(one_process, sent):
    with slow_clients(one_process, slow_requests(one_process)[sent].encode()):
        # Twice, because the first call could be served before the others have arrived.
        assert seconds_of_a_call(one_process) + seconds_of_a_call(one_process) < 8


def test_stalled_bodies_are_answered_with_400(one_process):
    for data in ("Content-Length: 100\r\n\r\n{", "Transfer-Encoding: chunked\r\n\r\n5\r\n{"):
        with one_process.connect((authorized(one_process) + data).encode()) as connection:
            assert received(connection).startswith(b"HTTP/1.1 400 ")


@pytest.mark.parametrize("data", [b"", f"{HEAD}X-A: b".encode()], ids=["nothing", "a part of the head"])
def test_a_stalled_head_closes_the_connection(one_process, data):
    with one_process.connect(data) as connection:
        assert received(connection) == b""


@pytest.mark.parametrize("head", [f"{HEAD}X-A: ", f"{HEAD}Content-Length: 1000\r\n\r\n"], ids=["head", "body"])
def test_single_bytes_do_not_extend_the_timeout(one_process, head):
    with one_process.connect(head.encode()) as connection:
        start = time.monotonic()
        with suppress(OSError):
            while time.monotonic() - start < 100:
                time.sleep(0.5)
                connection.sendall(b"b")
        assert time.monotonic() - start < 90


def test_surplus_idle_connections_do_not_delay_others(one_process):
    with slow_clients(one_process, b"", count=600):
        assert seconds_of_a_call(one_process) < 8


@pytest.fixture(scope="module")
def with_a_large_list(one_process):
    """Fill the first page with more than any socket buffers: 200 bookmarks of 32 kB each."""
    token = {"Authorization": f"Bearer {one_process.access_token}"}
    for start in (0, 100):
        items = [
            {"url": f"https://example.com/{n}?".ljust(7900, "\N{GRINNING FACE}")} for n in range(start, start + 100)
        ]
        response = httpx.post(
            f"{one_process.base_url}/v1/bookmarks/batch", json={"bookmarks": items}, headers=token, timeout=TIMEOUT
        )
        assert response.status_code == 200
    return one_process


def ask_for_a_large_list(service):
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
    connection.settimeout(TIMEOUT)
    connection.connect(("127.0.0.1", service.port))
    connection.sendall(authorized(service, "GET /v1/bookmarks?limit=200 HTTP/1.1\r\nHost: localhost\r\n").encode())
    connection.sendall(b"Connection: close\r\n\r\n")
    return connection


def test_a_large_answer_may_be_read_slowly(with_a_large_list):
    """For longer than a client may stall."""
    with ask_for_a_large_list(with_a_large_list) as connection:
        start, answer = time.monotonic(), b""
        while data := connection.recv(65536):
            answer += data
            time.sleep(max(0, start + len(answer) / 400_000 - time.monotonic()))

    head, _, body = answer.partition(b"\r\n\r\n")
    assert time.monotonic() - start > 12
    assert f"Content-Length: {len(body)}".encode() in head
    assert len(body) > 6_000_000


def test_an_unread_answer_is_aborted(with_a_large_list):
    with ask_for_a_large_list(with_a_large_list) as connection:
        time.sleep(20)
        assert len(received(connection)) < 6_000_000
    assert "Socket error" not in with_a_large_list.log.read_text()


def test_unread_files_do_not_delay_others(one_process):
    path = "/static/drf_spectacular_sidecar/swagger-ui-dist/swagger-ui-bundle.js"
    request = f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()

    with ExitStack() as stack:
        for _ in range(CLIENTS):
            client = stack.enter_context(socket.socket())
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)  # bytes, so that the file does not fit
            client.connect(("127.0.0.1", one_process.port))
            client.sendall(request)
        assert seconds_of_a_call(one_process) + seconds_of_a_call(one_process) < 8


def test_livez_answers_while_all_threads_wait_for_the_database(one_process):
    with ThreadPoolExecutor(20) as pool:
        with nobody_can_write(one_process.database_url):
            url = "https://example.com/waits"
            calls = [pool.submit(one_process.create_bookmark, url=f"{url}/{n}") for n in range(20)]
            time.sleep(3)
            statuses = [httpx.get(f"{one_process.base_url}/livez", timeout=TIMEOUT).status_code for _ in range(10)]
            assert not any(call.done() for call in calls)
        assert statuses == [200] * 10
        assert {call.result().status_code for call in calls} <= {201, 503}


def test_a_stop_does_not_wait_for_idle_connections(tmp_path):
    with (
        empty_database(tmp_path) as database_url,
        Service(tmp_path, database_url, GUNICORN_CMD_ARGS="--graceful-timeout=100") as service,
        slow_clients(service, b""),
        slow_clients(service, f"{HEAD}X-A: b".encode()),
        slow_clients(service, f"{HEAD}Content-Length: 100\r\n\r\n{{".encode()),
    ):
        service.process.send_signal(signal.SIGTERM)
        assert service.process.wait(timeout=90) == 0  # gunicorn kills its processes after 100 seconds


# TLS without a proxy


@pytest.fixture(scope="module")
def tls_port(tmp_path_factory):
    """Serve with TLS on this port, with a certificate of its own, and no database."""
    if not shutil.which("openssl"):
        pytest.skip("There is no openssl command to make a certificate.")
    folder = tmp_path_factory.mktemp("tls")
    files = ["-keyout", folder / "key.pem", "-out", folder / "cert.pem"]
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=localhost"]
    subprocess.run([*command, *files], check=True, capture_output=True)
    port = free_port()
    arguments = f"--bind=127.0.0.1:{port} --certfile={folder}/cert.pem --keyfile={folder}/key.pem"
    variables = environment(SECRET_KEY="x", WEB_CONCURRENCY="1", GUNICORN_CMD_ARGS=arguments)
    command = [sys.executable, "-m", "gunicorn", "-c", "bookmarks_service/gunicorn.conf.py"]
    process = start_server(command, folder / "log", lambda: listens(port), cwd=ROOT, env=variables)
    yield port
    stop_server(process)


def alive_over_tls(port):
    with httpx.Client(verify=False) as client:
        return [client.get(f"https://127.0.0.1:{port}/livez", timeout=TIMEOUT).status_code for _ in range(3)]


@pytest.mark.parametrize(
    "data", [b"", b"\x16\x03\x01\x02\x00\x01", b"GET / HTTP/1.1\r\n\r\n"], ids=["nothing", "a part", "no TLS"]
)
def test_stalled_tls_handshakes_do_not_delay_others(tls_port, data):
    with ExitStack() as stack:
        stalled = []
        for _ in range(CLIENTS):
            connection = stack.enter_context(socket.create_connection(("127.0.0.1", tls_port), timeout=TIMEOUT))
            connection.sendall(data)
            stalled.append(connection)
        start = time.monotonic()
        assert alive_over_tls(tls_port) == [200] * 3
        assert time.monotonic() - start < 8
        assert b"HTTP" not in received(stalled[0])  # It is closed in the end.


def test_an_early_answer_to_a_large_body_arrives_over_tls(tls_port):
    with httpx.Client(verify=False) as client:
        response = client.post(f"https://127.0.0.1:{tls_port}/livez", content=b" " * 3_000_000, timeout=TIMEOUT)

    assert response.status_code == 405


# Reading requests


def arriving(*pieces):
    """Return the request after each of the pieces was received."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.setblocking(False)
        request = ArrivingRequest()
        for piece in pieces:
            theirs.sendall(piece)
            yield request.read(ours, b""), request.is_whole


def single_bytes(text):
    return [bytes([byte]) for byte in text]


@pytest.mark.parametrize(
    "text",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        b"\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\na\nb",
        b"POST / HTTP/1.1\r\nCONTENT-LENGTH:0003 \r\n\r\na\r\n",
        b"GET / HTTP/1.1\n",
        b"GET / HTTP/1.1\r\nA: b\n",
    ],
)
def test_a_request_is_complete_with_its_last_byte(text):
    states = list(arriving(*single_bytes(text)))

    assert states == [(False, False)] * (len(text) - 1) + [(True, True)]


@pytest.mark.parametrize(
    "header",
    ["Content-Length: 1000000", "content-length: 9999999999", "Content-Length: x", "Content-Length: 5, 5",
     "Transfer-Encoding: chunked", "Expect: 100-continue\r\nContent-Length: 5"],
)  # fmt: skip
def test_bodies_that_are_large_or_of_unknown_size_are_not_awaited(header):
    text = f"POST / HTTP/1.1\r\n{header}\r\n\r\n".encode()

    assert list(arriving(text))[-1] == (True, False)


def test_an_endless_head_is_refused():
    with pytest.raises(HeadTooLong):
        list(arriving(*[b"a" * 10_000] * (MAX_HEAD // 10_000 + 2)))


def test_only_small_bodies_are_awaited():
    length = SMALL_REQUEST
    text = f"POST / HTTP/1.1\r\nContent-Length: {length}\r\n\r\n".encode()

    assert list(arriving(text)) == [(True, False)]
