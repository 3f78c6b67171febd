"""The contract holds on hash partitions of PostgreSQL, whose keys and statements are those of Citus."""

import os

import pytest
from django.db import connection

from tests.nested import run_tests

CONTRACT = [
    "tests/contract",
    "tests/citus/test_shards.py",
    "tests/bookmarks_service/test_concurrency.py",
]


@pytest.mark.skipif(connection.vendor != "postgresql", reason="the database is not PostgreSQL")
@pytest.mark.skipif("TEST_PARTITIONS" in os.environ, reason="the database has partitions already")
def test_the_contract_holds_on_partitions():
    assert run_tests("tests.settings", "-m", "not once", *CONTRACT, TEST_PARTITIONS="4")
