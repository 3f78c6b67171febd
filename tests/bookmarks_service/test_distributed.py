"""The tests of the bookmarks and of the running service pass on a distributed database."""

import os

import pytest
from django.db import connection

from tests.nested import run_tests

APPS = [
    "-m", "not once", "tests/contract", "--ignore=tests/contract/test_robustness.py",
    "tests/bookmarks", "--ignore=tests/bookmarks/test_distribute.py",
    "tests/admin/test_shards.py", "tests/admin/test_signals.py", "tests/admin/test_large_deletions.py",
]  # fmt: skip
WITHOUT_ADMIN = [each for each in APPS if not each.startswith("tests/admin")]
"""Citus refuses the locks of the admin."""
SERVICE = [
    "tests/bookmarks_service/test_nothing_is_lost.py", "tests/bookmarks_service/test_http.py", "-k",
    "concurrent or killing",
]  # fmt: skip


@pytest.mark.skipif(connection.vendor != "postgresql", reason="the database is not PostgreSQL")
@pytest.mark.skipif("TEST_DISTRIBUTE" in os.environ, reason="the database is distributed already")
@pytest.mark.parametrize("folders", [APPS, SERVICE], ids=["apps", "service"])
def test_the_tests_pass_on_partitions(folders):
    assert run_tests("tests.settings", *folders, TEST_DISTRIBUTE="4")


@pytest.mark.skipif("CITUS_URL" not in os.environ, reason="CITUS_URL is not set")
@pytest.mark.parametrize("folders", [WITHOUT_ADMIN, SERVICE], ids=["apps", "service"])
def test_the_tests_pass_on_citus(folders):
    from tests.databases import new_database  # noqa: PLC0415

    url, name = os.environ["CITUS_URL"], f"citus_{os.getpid()}"
    with new_database(url, f"test_{name}"):
        database_url = f"{url.rpartition('/')[0]}/{name}"
        assert run_tests("tests.settings", *folders, "--reuse-db", DATABASE_URL=database_url, TEST_DISTRIBUTE="citus")
