"""Databases that the apps do not support."""

import os
import subprocess
import sys
from contextlib import suppress

import pymysql
import pytest

from tests.servers import TIMEOUT

pytestmark = pytest.mark.once


@pytest.fixture
def mariadb():
    """Create a database on the local MariaDB server and return a connection to it."""
    connection = None
    with suppress(pymysql.err.OperationalError):
        connection = pymysql.connect(host="127.0.0.1", user="root", autocommit=True)
    if connection is None:
        pytest.skip("no MariaDB server is running")
    name = f"bookmarks_{os.getpid()}"
    with connection, connection.cursor() as cursor:
        cursor.execute(f"CREATE DATABASE {name}")
        try:
            cursor.execute(f"USE {name}")
            connection.name = name
            yield connection
        finally:
            cursor.execute(f"DROP DATABASE {name}")


def test_migrate_refuses_mariadb_and_creates_nothing(mariadb):
    result = subprocess.run(
        [sys.executable, "-m", "django", "migrate", "--settings=tests.host.settings_mariadb"],
        env={**os.environ, "MARIADB_DATABASE": mariadb.name},
        capture_output=True, text=True, timeout=TIMEOUT, check=False,
    )  # fmt: skip

    assert result.returncode == 1
    assert "(usergroups.E005) The database 'default' is not supported." in result.stderr
    with mariadb.cursor() as cursor:
        assert cursor.execute("SHOW TABLES") == 0
