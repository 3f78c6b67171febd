"""Create databases on a PostgreSQL server or on all nodes of a Citus cluster."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import psycopg

SHARDS = 4


@contextmanager
def new_database(url: str, name: str) -> Iterator[None]:
    """Create a database until the block ends. ``url`` is any other database of the same server.

    If that database has Citus, all nodes get a database of this name, and the new cluster of databases has few shards.
    """
    with ExitStack() as stack:
        first, *workers = nodes = [stack.enter_context(node) for node in _nodes(url)]
        for node in nodes:
            node.execute(f"CREATE DATABASE {name}")
            stack.callback(node.execute, f"DROP DATABASE {name} WITH (FORCE)")
        if workers:
            _add_workers(first, workers, name)
        yield


def _nodes(url: str) -> Iterator[psycopg.Connection[Any]]:
    """Yield a connection to the server and, with Citus, to each worker."""
    first = psycopg.connect(url, autocommit=True)
    first.add_notice_handler(lambda notice: None)  # Citus says that it creates databases on one node only.
    yield first
    if first.execute("SELECT 1 FROM pg_extension WHERE extname = 'citus'").fetchone():
        for host, port in first.execute("SELECT nodename, nodeport FROM pg_dist_node WHERE groupid > 0").fetchall():
            yield psycopg.connect(url, host=host, port=port, autocommit=True)


def _add_workers(first: psycopg.Connection[Any], workers: list[psycopg.Connection[Any]], name: str) -> None:
    for node in (*workers, first):
        with psycopg.connect(_dsn(node, name), autocommit=True) as database:
            database.execute("CREATE EXTENSION IF NOT EXISTS citus")
    with psycopg.connect(_dsn(first, name), autocommit=True) as database:
        database.execute(f"ALTER DATABASE {name} SET citus.shard_count = {SHARDS}")
        database.execute("SELECT citus_set_coordinator_host(%s, %s)", [first.info.host, first.info.port])
        for worker in workers:
            database.execute("SELECT citus_add_node(%s, %s)", [worker.info.host, worker.info.port])


def _dsn(node: psycopg.Connection[Any], name: str) -> str:
    return psycopg.conninfo.make_conninfo(node.info.dsn, password=node.info.password, dbname=name)
