"""The operations on bookmarks work on a distributed database."""

import os

import pytest
from django.db import connection

from tests.nested import run_tests

FILES = ("bookmarks", "create_bookmark", "collections", "batches", "shards")
OPERATIONS = ["-m", "not once", *(f"tests/bookmarks/test_{name}.py" for name in FILES)]
RACES = ["tests/bookmarks_service/test_http.py", "-k", "concurrent"]


@pytest.mark.skipif(connection.vendor != "postgresql", reason="the database is not PostgreSQL")
@pytest.mark.skipif("TEST_DISTRIBUTE" in os.environ, reason="the database is distributed already")
@pytest.mark.parametrize("arguments", [OPERATIONS, RACES], ids=["operations", "races"])
def test_the_tests_pass_on_partitions(arguments):
    assert run_tests("tests.settings", *arguments, TEST_DISTRIBUTE="4")


@pytest.mark.skipif("CITUS_URL" not in os.environ, reason="CITUS_URL is not set")
@pytest.mark.parametrize("arguments", [OPERATIONS, RACES], ids=["operations", "races"])
def test_the_tests_pass_on_citus(arguments):
    from tests.databases import new_database  # noqa: PLC0415

    url, name = os.environ["CITUS_URL"], f"citus_{os.getpid()}"
    with new_database(url, f"test_{name}"):
        database_url = f"{url.rpartition('/')[0]}/{name}"
        assert run_tests("tests.settings", *arguments, "--reuse-db", DATABASE_URL=database_url, TEST_DISTRIBUTE="citus")
