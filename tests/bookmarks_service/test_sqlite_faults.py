"""Faults of SQLite: a full disk, and a database that another connection keeps locked."""

import os
import sqlite3
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager

import httpx
import pytest

from tests.bookmarks_service.service import Service, small_disk
from tests.bookmarks_service.test_faults import assert_unavailable, assert_well, list_bookmarks
from tests.servers import TIMEOUT

pytestmark = pytest.mark.once


def test_a_full_disk_is_answered_with_503(tmp_path):
    with (
        small_disk(tmp_path / "disk", megabytes=2) as disk,
        Service(tmp_path, f"sqlite:///{disk / 'db.sqlite3'}") as service,
    ):
        assert_well(service)
        filler = disk / "filler"
        with filler.open("wb") as file:
            file.write(b"x" * (os.statvfs(disk).f_bavail * os.statvfs(disk).f_bsize))
        for n in range(50):
            response = service.create_bookmark(url=f"https://example.com/{n}/".ljust(7000, "a"))
            if response.status_code != 201:
                break
        assert_unavailable(response)
        filler.unlink()
        assert_well(service)
        assert list_bookmarks(service).status_code == 200


@contextmanager
def write_lock(path, *statements):
    """Run the statements and hold the lock for writing until the block ends."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for statement in (*statements, "BEGIN IMMEDIATE"):
            connection.execute(statement)
        yield


def test_a_locked_database_is_answered_with_503(tmp_path):
    path = tmp_path / "db.sqlite3"
    with Service(tmp_path, f"sqlite:///{path}") as service:
        assert_well(service)
        with write_lock(path):
            assert_unavailable(service.create_bookmark(url="https://example.com/"))
            assert list_bookmarks(service).status_code == 200
        assert_well(service)


def test_reads_do_not_wait_for_a_writer(tmp_path):
    """More reads at once than the service has threads, with a token that was last used over a minute ago."""
    path = tmp_path / "db.sqlite3"
    with Service(tmp_path, f"sqlite:///{path}", WEB_CONCURRENCY="1") as service:
        assert list_bookmarks(service).status_code == 200
        with (
            write_lock(path, "UPDATE bookmarks_accesstoken SET last_used_at = '2026-01-01'"),
            ThreadPoolExecutor(17) as pool,
        ):
            start = time.monotonic()
            calls = [pool.submit(list_bookmarks, service) for _ in range(16)]
            calls.append(pool.submit(httpx.get, f"{service.base_url}/livez", timeout=TIMEOUT))
            statuses = {call.result().status_code for call in calls}
            elapsed = time.monotonic() - start

        assert statuses == {200}
        assert elapsed < 15  # seconds; a wait for the lock takes 20
        assert service.log.read_text().count("Could not write the last use of the token") == 1
