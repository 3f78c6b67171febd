"""Landed migrations are never changed, and all migrations can be reversed and
applied again, on a database of the kind that the tests run on.
"""

import hashlib
from contextlib import closing

import pytest
from django.db import connection, connections
from django.db.migrations.executor import MigrationExecutor

from tests.bookmarks_service.service import empty_database
from tests.documents import ROOT

LANDED = ROOT / "tests/landed_migrations.txt"
"""The digests of the migrations, whose first line says what it is for."""


def migrate(database, *targets):
    """Migrate to these targets, or to the newest migrations."""
    executor = MigrationExecutor(database)
    executor.migrate(list(targets) or executor.loader.graph.leaf_nodes())


def schema(database):
    """Return the columns, constraints and indexes of each table of the apps."""
    found = {}
    with database.cursor() as cursor:
        for table in database.introspection.table_names(cursor):
            if table.startswith(("bookmarks_", "usergroups_")):
                columns = database.introspection.get_table_description(cursor, table)
                constraints = database.introspection.get_constraints(cursor, table)
                found[table] = (
                    sorted(map(str, columns)),
                    sorted(map(str, constraints.items())),
                )
    return found


@pytest.fixture
def database(tmp_path, monkeypatch, django_db_blocker):
    """A connection to an empty database, without tables."""
    with django_db_blocker.unblock(), empty_database(tmp_path) as url:
        name = url.removeprefix("sqlite:///")
        if connection.vendor == "postgresql":
            name = url.rpartition("/")[2]
        monkeypatch.setitem(
            connections.settings,
            "migrated",
            {**connection.settings_dict, "NAME": name},
        )
        with closing(connections["migrated"]) as database:
            yield database
        del connections["migrated"]


def test_all_migrations_are_reversed_and_applied_again(database):
    migrate(database)
    before = schema(database)
    # teams, user groups, collections, bookmarks, events, two kinds of
    # tokens and two of records of deletions
    assert len(before) == 9

    migrate(database, ("bookmarks", None), ("usergroups", None))
    assert schema(database) == {}

    migrate(database)
    assert schema(database) == before


@pytest.mark.database_independent
def test_landed_migrations_are_not_changed():
    digests = {
        str(path.relative_to(ROOT)): hashlib.sha256(path.read_bytes()).hexdigest()
        for app in ("bookmarks", "usergroups")
        for path in (ROOT / app / "migrations").glob("[0-9]*.py")
    }
    _, *lines = LANDED.read_text().splitlines()
    landed = dict(reversed(line.split()) for line in lines)

    new = digests.keys() - landed.keys()
    assert not new, f"Add to {LANDED.name}: " + ", ".join(
        f"{digests[path]}  {path}" for path in new
    )
    assert digests == landed, "A landed migration differs. Write a new one instead."
