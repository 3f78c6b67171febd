"""The contract holds on a distributed database."""

import os

import pytest
from django.db import connection

from tests.nested import run_tests

CONTRACT = ["tests/contract", "tests/bookmarks/test_shards.py", "tests/bookmarks_service/test_concurrency.py"]


@pytest.mark.skipif(connection.vendor != "postgresql", reason="the database is not PostgreSQL")
@pytest.mark.skipif("TEST_DISTRIBUTE" in os.environ, reason="the database is distributed already")
def test_the_contract_holds_on_partitions():
    assert run_tests("tests.settings", "-m", "not once", *CONTRACT, TEST_DISTRIBUTE="4")


@pytest.mark.skipif("CITUS_URL" not in os.environ, reason="CITUS_URL is not set")
def test_the_contract_holds_on_citus():
    from tests.databases import new_database  # noqa: PLC0415

    url, name = os.environ["CITUS_URL"], f"citus_{os.getpid()}"
    with new_database(url, f"test_{name}"):
        database_url = f"{url.rpartition('/')[0]}/{name}"
        variables = {"DATABASE_URL": database_url, "TEST_DISTRIBUTE": "citus"}
        assert run_tests("tests.settings", "-m", "not once", *CONTRACT, "--reuse-db", **variables)
