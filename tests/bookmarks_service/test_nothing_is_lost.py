"""What was acknowledged is stored although workers are killed, and a download that breaks off is seen to be broken."""

import os
import re
import signal
import socket
import threading
from contextlib import suppress

import httpx
import pytest

from tests.bookmarks_service.service import Service, empty_database
from tests.servers import TIMEOUT, wait_until

pytestmark = pytest.mark.once


@pytest.fixture
def service(tmp_path):
    with empty_database(tmp_path) as database_url, Service(tmp_path, database_url, GRANIAN_WORKERS="1") as running:
        yield running


class Load:
    """Callers that create bookmarks, each one after another, until the block ends."""

    def __init__(self, service, callers=4):
        self.service = service
        self.acknowledged, self.refused = set(), set()
        self.stopped = threading.Event()
        self.threads = [threading.Thread(target=self.call, args=(n,)) for n in range(callers)]

    def call(self, caller):
        number = 0
        while not self.stopped.is_set():
            number += 1
            url = f"https://example.com/{caller}/{number}"
            with suppress(httpx.TransportError):  # Nobody knows whether such a call was done.
                response = self.service.create_bookmark(url=url)
                (self.acknowledged if response.status_code == 201 else self.refused).add(url)

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *exc_info):
        self.stopped.set()
        for thread in self.threads:
            thread.join(timeout=TIMEOUT)

    def wait_for(self, count):
        """Wait until this number of further calls is acknowledged."""
        goal = len(self.acknowledged) + count
        wait_until(lambda: len(self.acknowledged) >= goal)


def stored(service):
    """Return the URLs of all bookmarks."""
    with service.client() as client:
        page = client.get("/v1/bookmarks?limit=200").json()
        found = {bookmark["url"] for bookmark in page["bookmarks"]}
        while page["next"]:
            page = client.get(page["next"]).json()
            found |= {bookmark["url"] for bookmark in page["bookmarks"]}
    return found


def test_killing_a_worker_loses_no_acknowledged_write(service):
    with Load(service) as load:
        load.wait_for(20)
        workers = service.worker_pids()
        os.kill(workers[0], signal.SIGKILL)
        service.wait_for_replacements(workers)
        load.wait_for(20)

    found = stored(service)
    assert load.acknowledged <= found
    assert not load.refused & found


def test_a_download_that_breaks_off_is_shorter_than_its_content_length(service):
    url = "https://example.com/".ljust(7900, "\N{GRINNING FACE}")
    with service.client() as client:
        for batch in range(2):  # 6 MB, which fit into no buffer of a socket
            items = [{"url": f"{url}{batch}/{number}"} for number in range(100)]
            assert client.post("/v1/bookmarks/batch", json={"bookmarks": items}).status_code == 200
    token = f"Authorization: Bearer {service.access_token}"

    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
        connection.connect(("127.0.0.1", service.port))
        connection.sendall(f"GET /v1/export HTTP/1.1\r\nHost: localhost\r\n{token}\r\n\r\n".encode())
        received = connection.recv(65536)
        workers = service.worker_pids()
        os.kill(workers[0], signal.SIGKILL)
        with suppress(ConnectionResetError):
            while data := connection.recv(65536):
                received += data

    service.wait_for_replacements(workers)
    head, _, body = received.partition(b"\r\n\r\n")
    assert len(body) < int(re.search(rb"content-length: (\d+)", head)[1])
