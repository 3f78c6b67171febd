"""A second database, whose migrations the tests apply and reverse."""

from contextlib import closing, contextmanager

import pytest
from django.db import connection, connections
from django.db.migrations.executor import MigrationExecutor

from tests.bookmarks_service.service import empty_database

RELEASED = [("bookmarks", "0001_initial"), ("usergroups", "0001_initial")]
"""The migrations of release 1.0.0."""

ROWS = 300
"""The number of rows of each table."""

FILL = [
    "INSERT INTO usergroups_team (name) SELECT 'Team ' || n {numbers}",
    """INSERT INTO usergroups_usergroup
        (team_id, environment, provided_id, name, token, mapping, created_at, updated_at)
        SELECT n, '', 'group_' || n, 'Group ' || n, 'ugt_' || n, '{{}}', {now}, {now} {numbers}""",
    """INSERT INTO usergroups_apitoken (name, digest, hint, read_only, created_at, environment, team_id)
        SELECT '', {digest}, 'uga_', {false}, {now}, '', n {numbers}""",
    """INSERT INTO bookmarks_accesstoken (name, digest, hint, read_only, created_at, user_group_id)
        SELECT '', {digest}, 'bma_', {false}, {now}, n {numbers}""",
    """INSERT INTO bookmarks_collection (id, name, created_at, user_group_id)
        SELECT {uuid}, 'Collection ' || n, {now}, n {numbers}""",
    """INSERT INTO bookmarks_bookmark (id, url, url_digest, title, created_at, user_group_id, collection_id)
        SELECT {uuid}, 'https://example.com/' || n, {digest}, '', {now}, n, {uuid} {numbers}""",
]
EXPRESSIONS = {
    "postgresql": {
        "numbers": f"FROM generate_series(1, {ROWS}) n", "now": "now()", "false": "false",
        "digest": "sha256(n::text::bytea)", "uuid": "lpad(n::text, 32, '0')::uuid",
    },
    "sqlite": {
        "numbers": f"FROM (WITH RECURSIVE s(n) AS (SELECT 1 UNION SELECT n + 1 FROM s WHERE n < {ROWS}) SELECT n FROM s)",
        "now": "datetime('now')", "false": "0", "digest": "CAST(n AS blob)", "uuid": "printf('%032d', n)",
    },
}  # fmt: skip


def migrate(database, *targets):
    """Migrate to these targets, or to the newest migrations."""
    executor = MigrationExecutor(database)
    executor.migrate(list(targets) or executor.loader.graph.leaf_nodes())


def fill(database):
    """Add rows to the tables of the release."""
    with database.cursor() as cursor:
        for statement in FILL:
            cursor.execute(statement.format(**EXPRESSIONS[database.vendor]))


@contextmanager
def new_database(folder):
    """Yield a connection to a new empty database of the kind that the tests run on."""
    with empty_database(folder) as url, pytest.MonkeyPatch.context() as patch:
        name = url.rpartition("/")[2] if connection.vendor == "postgresql" else url.removeprefix("sqlite:///")
        settings = {**connection.settings_dict, "NAME": name, "CONN_MAX_AGE": 0}
        patch.setitem(connections.settings, folder.name, settings)
        with closing(connections[folder.name]) as database:
            yield database
        del connections[folder.name]


@contextmanager
def second_database(folder, *targets):
    """Yield a connection to a new database with rows in the tables of the release, then migrated to ``targets``."""
    with new_database(folder) as database:
        migrate(database, *RELEASED)
        fill(database)
        migrate(database, *targets)
        yield database


@pytest.fixture
def released_database(tmp_path, django_db_blocker):
    """Return a connection to a database of release 1.0.0 with rows, of the kind that the tests run on."""
    with django_db_blocker.unblock(), second_database(tmp_path, *RELEASED) as database:
        yield database
