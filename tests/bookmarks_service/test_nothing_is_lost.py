"""Acknowledged means stored, whatever ends; refused means nothing changed; a deploy is not noticed."""

import os
import signal
import sqlite3
import threading
import time
from contextlib import closing, contextmanager
from pathlib import Path

import httpx
import pytest

from tests.bookmarks_service.service import Service, empty_database
from tests.servers import TIMEOUT, wait_until


@pytest.fixture
def database_url(tmp_path):
    with empty_database(tmp_path) as url:
        yield url


def workers_of(service):
    path = Path(f"/proc/{service.process.pid}/task/{service.process.pid}/children")
    return [int(pid) for pid in path.read_text().split()]


class Load:
    """Callers that create bookmarks as fast as they are answered, until they are told to stop."""

    def __init__(self, service, callers=8, keep_alive=True):
        self.service, self.keep_alive = service, keep_alive
        self.acknowledged, self.refused, self.broken = set(), set(), []
        self.stopped = threading.Event()
        self.threads = [threading.Thread(target=self.call, args=(n,)) for n in range(callers)]

    def call(self, caller):
        limits = httpx.Limits(max_keepalive_connections=1 if self.keep_alive else 0)
        with httpx.Client(limits=limits, timeout=TIMEOUT) as client:
            for n in range(100_000):
                if self.stopped.is_set():
                    return
                url = f"https://example.com/{id(self)}/{caller}/{n}"
                try:
                    response = self.service.create_bookmark(client, url=url)
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


def test_killing_workers_loses_no_acknowledged_write(database_url, tmp_path):
    with Service(tmp_path, database_url) as service, Load(service) as load:
        for _ in range(4):
            load.wait_for(50)
            os.kill(workers_of(service)[0], signal.SIGKILL)
        load.wait_for(50)
        load.__exit__()

        found = stored(service)
        assert load.acknowledged <= found
        assert not load.refused & found


def test_killing_the_service_loses_no_acknowledged_write(database_url, tmp_path):
    first = Service(tmp_path, database_url)
    with first, Load(first) as load:
        load.wait_for(200)
        for pid in (first.process.pid, *workers_of(first)):
            os.kill(pid, signal.SIGKILL)
        load.__exit__()

    with Service(tmp_path, database_url) as second:
        found = stored(second)
        assert load.acknowledged <= found
        assert not load.refused & found
        assert second.create_bookmark(url="https://example.com/after").status_code == 201


@pytest.mark.parametrize("keep_alive", [True, False])
def test_a_reload_drops_no_call(database_url, tmp_path, keep_alive):
    with Service(tmp_path, database_url) as service, Load(service, keep_alive=keep_alive) as load:
        for _ in range(2):
            load.wait_for(50)
            before = set(workers_of(service))
            service.process.send_signal(signal.SIGHUP)
            wait_until(lambda: before.isdisjoint(workers_of(service)))  # noqa: B023
        load.wait_for(50)
        load.__exit__()

        assert (load.broken, load.refused) == ([], set())


@contextmanager
def nobody_can_write(database_url):
    """For as long as the block lasts."""
    if database_url.startswith("sqlite:"):
        with closing(sqlite3.connect(database_url.removeprefix("sqlite:///"), isolation_level=None)) as connection:
            connection.execute("BEGIN IMMEDIATE")
            yield
    else:
        import psycopg  # noqa: PLC0415

        with psycopg.connect(database_url) as connection:
            connection.execute("LOCK TABLE bookmarks_bookmark IN EXCLUSIVE MODE")
            yield
            connection.rollback()


def test_a_stop_waits_for_calls_in_progress(database_url, tmp_path):
    answers = []
    with Service(tmp_path, database_url) as service:
        service.create_bookmark(url="https://example.com/before")
        with nobody_can_write(database_url):
            thread = threading.Thread(
                target=lambda: answers.append(service.create_bookmark(url="https://example.com/during"))
            )
            thread.start()
            time.sleep(1)
            service.process.send_signal(signal.SIGTERM)
            time.sleep(1)
            assert not answers
        thread.join(timeout=TIMEOUT)
        assert service.process.wait(timeout=TIMEOUT) == 0

    assert [answer.status_code for answer in answers] == [201]
