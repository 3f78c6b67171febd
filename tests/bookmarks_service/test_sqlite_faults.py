"""SQLite while another connection has the lock for writes."""

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager

import pytest

from tests.bookmarks_service.service import Service
from tests.bookmarks_service.test_faults import assert_healthy, assert_unavailable, list_bookmarks

pytestmark = pytest.mark.once


@contextmanager
def service_on_sqlite(folder, timeout):
    """Run one process of the service that waits for this number of seconds for a lock of its database."""
    variables = {"DJANGO_SETTINGS_MODULE": "tests.bookmarks_service.settings", "SQLITE_TIMEOUT": str(timeout)}
    with Service(folder, f"sqlite:///{folder / 'db.sqlite3'}", GRANIAN_WORKERS="1", **variables) as service:
        yield service


@contextmanager
def writes_locked(folder, *statements):
    with closing(sqlite3.connect(folder / "db.sqlite3", isolation_level=None)) as connection:
        for statement in (*statements, "BEGIN IMMEDIATE"):
            connection.execute(statement)
        yield


def test_a_locked_database_is_answered_with_503(tmp_path):
    with service_on_sqlite(tmp_path, timeout=1) as service:
        with writes_locked(tmp_path):
            assert_unavailable(service.create_bookmark(url="https://example.com/"))
        assert_healthy(service)


def test_reads_do_not_wait_for_a_writer(tmp_path):
    """There are more reads at once than threads, with a token whose last use must be written.

    A read that waited would get a 503 response after the time limit, while the writer still has its lock.
    """
    with service_on_sqlite(tmp_path, timeout=60) as service:
        assert list_bookmarks(service).status_code == 200
        unused = "UPDATE bookmarks_accesstoken SET last_used_at = '2026-01-01'"
        with writes_locked(tmp_path, unused), ThreadPoolExecutor(17) as pool:
            calls = [pool.submit(list_bookmarks, service) for _ in range(16)]
            calls.append(pool.submit(service.request, "GET", "/livez"))
            statuses = {call.result().status_code for call in calls}

        assert statuses == {200}
        assert service.log.read_text().count("Could not write the last use of the token") == 1
