"""Acknowledged writes are stored whatever is killed or reloaded, refused ones are not, and a stop waits for calls.

A download that breaks off is not taken for a complete one.
"""

import os
import re
import signal
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import httpx
import pytest

from tests.bookmarks_service.service import Service, empty_database, writes_locked
from tests.servers import TIMEOUT, wait_until


@pytest.fixture
def database_url(tmp_path):
    with empty_database(tmp_path) as url:
        yield url


class Load:
    """Callers that create bookmarks, each one after another, until the block ends or ``stop`` is called."""

    def __init__(self, service, callers=8):
        self.service = service
        self.acknowledged, self.refused, self.broken = set(), set(), []
        self.stopped = threading.Event()
        self.threads = [threading.Thread(target=self.call, args=(n,)) for n in range(callers)]

    def call(self, caller):
        with self.service.client() as client:
            for n in range(100_000):
                if self.stopped.is_set():
                    return
                url = f"https://example.com/{id(self)}/{caller}/{n}"
                try:
                    response = client.post("/v1/bookmarks", json={"url": url})
                except httpx.TransportError as error:
                    self.broken.append(error)
                    time.sleep(0.01)
                    continue
                (self.acknowledged if response.status_code == 201 else self.refused).add(url)

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *exc_info):
        self.stop()

    def stop(self):
        self.stopped.set()
        for thread in self.threads:
            thread.join(timeout=TIMEOUT)

    def wait_for(self, count):
        """Wait until this number of further calls is acknowledged."""
        goal = len(self.acknowledged) + count
        wait_until(lambda: len(self.acknowledged) >= goal)


def stored(service):
    headers = {"Authorization": f"Bearer {service.access_token}"}
    found, link = set(), f"{service.base_url}/v1/bookmarks?limit=200"
    while link:
        page = httpx.get(link, headers=headers, timeout=TIMEOUT).json()
        found |= {bookmark["url"] for bookmark in page["bookmarks"]}
        link = page["next"]
    return found


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    folder = tmp_path_factory.mktemp("nothing_is_lost")
    with empty_database(folder) as database_url, Service(folder, database_url) as running:
        yield running


def test_a_reload_refuses_no_call_and_loses_no_acknowledged_write(service):
    """A call may find its connection closed if it arrives just when a worker stops."""
    with Load(service) as load:
        load.wait_for(20)
        before = service.worker_pids()
        service.process.send_signal(signal.SIGHUP)
        service.wait_for_replacements(before)
        load.wait_for(20)

    assert load.refused == set()
    assert load.acknowledged <= stored(service)


def test_killing_workers_loses_no_acknowledged_write(service):
    with Load(service) as load:
        for pid in service.worker_pids():
            load.wait_for(20)
            os.kill(pid, signal.SIGKILL)
        load.wait_for(20)

    found = stored(service)
    assert load.acknowledged <= found
    assert not load.refused & found


def test_killing_the_service_loses_no_acknowledged_write(database_url, tmp_path):
    first = Service(tmp_path, database_url)
    with first, Load(first) as load:
        load.wait_for(50)
        for pid in (first.process.pid, *first.worker_pids()):
            os.kill(pid, signal.SIGKILL)
        load.stop()

    with Service(tmp_path, database_url) as second:
        found = stored(second)
        assert load.acknowledged <= found
        assert not load.refused & found
        assert second.create_bookmark(url="https://example.com/after").status_code == 201


def test_a_stop_waits_for_a_call_in_progress(database_url, tmp_path):
    with Service(tmp_path, database_url, GRANIAN_WORKERS="1") as service, ThreadPoolExecutor(1) as pool:
        with writes_locked(database_url):
            call = pool.submit(service.create_bookmark, url="https://example.com/")
            wait_until(service.has_authenticated)
            service.process.send_signal(signal.SIGTERM)
            wait_until(lambda: "Shutting down granian" in service.log.read_text())
            assert not call.done()
        assert call.result().status_code == 201
        assert service.process.wait(timeout=TIMEOUT) == 0


def test_a_download_that_breaks_off_is_shorter_than_its_content_length(database_url, tmp_path):
    with Service(tmp_path, database_url, GRANIAN_WORKERS="1") as service:
        headers = {"Authorization": f"Bearer {service.access_token}"}
        url = "https://example.com/".ljust(7900, "\N{GRINNING FACE}")
        items = [{"url": f"{url}{n}"} for n in range(200)]
        for part in (items[:100], items[100:]):
            response = service.request("POST", "/v1/bookmarks/batch", json={"bookmarks": part}, headers=headers)
            assert response.status_code == 200
        token = f"Authorization: Bearer {service.access_token}"

        with socket.socket() as connection:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
            connection.connect(("127.0.0.1", service.port))
            connection.sendall(f"GET /v1/export HTTP/1.1\r\nHost: localhost\r\n{token}\r\n\r\n".encode())
            received = connection.recv(65536)
            os.kill(service.worker_pids()[0], signal.SIGKILL)
            with suppress(ConnectionResetError):
                while data := connection.recv(65536):
                    received += data

        head, _, body = received.partition(b"\r\n\r\n")
        assert len(body) < int(re.search(rb"content-length: (\d+)", head)[1])
