"""All migrations can be reversed and applied again, on a database of the kind
that the tests run on.
"""

from contextlib import closing

from django.db import connection, connections
from django.db.migrations.executor import MigrationExecutor

from tests.bookmarks_service.service import empty_database


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


def test_all_migrations_are_reversed_and_applied_again(
    tmp_path, monkeypatch, django_db_blocker
):
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
            migrate(database)
            before = schema(database)
            # teams, user groups, collections, bookmarks, events, two kinds of
            # tokens and two of records of deletions
            assert len(before) == 9

            migrate(database, ("bookmarks", None), ("usergroups", None))
            assert schema(database) == {}

            migrate(database)
            assert schema(database) == before
        del connections["migrated"]
