"""Indexes are built concurrently on PostgreSQL, also after an interruption."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager

import pytest
from django.db import OperationalError, connection, connections
from django.db.migrations.executor import MigrationExecutor

from tests.migrations.conftest import migrate
from tests.servers import wait_until
from tests.test_docs import blocks, page

only_postgresql = pytest.mark.skipif(connection.vendor != "postgresql", reason="only PostgreSQL builds concurrently")

NAME = "bookmarks_by_title"

[EXAMPLE] = [block for block in blocks(page("CONTRIBUTING"), "python") if "AddIndexConcurrently" in block]


@pytest.fixture
def database(released_database):
    migrate(released_database)
    return released_database


def run(database, change):
    """Apply or unapply the documented migration."""
    names = {}
    exec(EXAMPLE, names)
    executor = MigrationExecutor(database)
    state = executor.loader.project_state(executor.loader.graph.leaf_nodes())
    getattr(executor, change)(state, names["Migration"]("9999_index", "bookmarks"))


def execute(database, sql):
    with database.cursor() as cursor:
        cursor.execute(sql)
        return cursor.fetchall() if cursor.description else []


def indexes_of_titles(database, table="bookmarks_bookmark"):
    with database.cursor() as cursor:
        constraints = database.introspection.get_constraints(cursor, table)
    return [name for name, each in constraints.items() if each["columns"] == ["title"] and each["index"]]


def validity(database):
    """Return the object id of the index, and whether it is valid."""
    return execute(database, f"SELECT indexrelid, indisvalid FROM pg_index WHERE indexrelid = '{NAME}'::regclass")[0]


WAITING = "FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'virtualxid'"
"""Selects the connection whose build waits for another transaction."""


@contextmanager
def waiting_build(database):
    """Run the migration on another connection, and begin a transaction that the build waits for.

    Yields the future of the build, whose result is the limit on waiting for locks, and a connection for the block.
    """

    def build():
        with closing(connections[database.alias]) as own:  # a thread has a connection of its own
            run(own, "apply_migration")
            return execute(own, "SHOW lock_timeout")

    with ThreadPoolExecutor(1) as pool, closing(database.copy()) as other, closing(database.copy()) as observer:
        other.set_autocommit(False)
        execute(other, "UPDATE bookmarks_bookmark SET title = 'x'")
        future = pool.submit(build)
        try:
            wait_until(lambda: future.done() or execute(observer, f"SELECT 1 {WAITING}"))
            yield future, observer
        finally:
            other.rollback()


def test_an_index_is_created_and_removed(database):
    run(database, "apply_migration")
    assert indexes_of_titles(database) == [NAME]

    run(database, "unapply_migration")
    assert indexes_of_titles(database) == []


@only_postgresql
def test_an_interrupted_build_is_repeated(database):
    with waiting_build(database) as (build, other):
        execute(other, f"SELECT pg_cancel_backend(pid) {WAITING}")
        with pytest.raises(OperationalError, match="due to user request"):
            build.result()
    assert validity(database)[1] is False

    run(database, "apply_migration")

    assert validity(database)[1] is True


@only_postgresql
def test_a_finished_build_is_not_repeated(database):
    run(database, "apply_migration")
    before = validity(database)

    run(database, "apply_migration")

    assert validity(database) == before


@only_postgresql
def test_time_limits_do_not_end_a_build_but_apply_after_it(database, monkeypatch):
    monkeypatch.setenv("PGOPTIONS", "-c lock_timeout=10ms -c statement_timeout=1s")

    with waiting_build(database) as (build, other):
        wait_until(lambda: execute(other, f"SELECT 1 {WAITING} AND now() - query_start > '1200ms'") or build.done())

    assert build.result() == [("10ms",)]
    assert validity(database)[1] is True
