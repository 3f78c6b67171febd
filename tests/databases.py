"""Create databases on a PostgreSQL server."""

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg


@contextmanager
def new_database(url: str, name: str) -> Iterator[None]:
    """Create a database until the block ends. ``url`` is any other database of the same server."""
    with psycopg.connect(url, autocommit=True) as server:
        server.execute(f"CREATE DATABASE {name}")
        try:
            yield
        finally:
            server.execute(f"DROP DATABASE {name} WITH (FORCE)")
