"""The encoding of a PostgreSQL database, which migrate checks first."""

import pytest

from tests.bookmarks_service.postgresql import Cluster, needs_postgresql
from tests.bookmarks_service.service import manage

pytestmark = [pytest.mark.database_independent, needs_postgresql]


@pytest.fixture(scope="module")
def cluster():
    with Cluster() as running:
        yield running


@pytest.mark.parametrize(
    "command", [["migrate"], ["check", "--database=default"]], ids=" ".join
)
def test_a_database_in_sql_ascii_is_refused(cluster, command):
    """Debian creates such databases if the environment has no locale."""
    cluster.execute("DROP DATABASE IF EXISTS ascii")
    cluster.execute(
        "CREATE DATABASE ascii TEMPLATE template0 ENCODING 'SQL_ASCII' LOCALE 'C'"
    )

    result = manage(
        *command, DATABASE_URL=cluster.url.removesuffix("postgres") + "ascii"
    )

    assert result.returncode == 1
    assert (
        "(usergroups.E006) The encoding of the database 'default' is not UTF8."
        in result.stderr
    )
    assert "createdb --encoding=UTF8 --template=template0" in result.stderr
