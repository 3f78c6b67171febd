"""Each migration can be reversed and applied again, and keeps the rows."""

from tests.migrations.conftest import RELEASED, ROWS, migrate, new_database

TABLES = ("bookmarks_bookmark", "bookmarks_collection", "bookmarks_accesstoken", "usergroups_usergroup")


def schema(database):
    """Return the columns, constraints and indexes of each table of the apps."""
    found = {}
    with database.cursor() as cursor:
        for table in database.introspection.table_names(cursor):
            if table.startswith(("bookmarks_", "usergroups_")):
                columns = database.introspection.get_table_description(cursor, table)
                constraints = database.introspection.get_constraints(cursor, table)
                # SQLite numbers the constraints that have no name.
                keys = sorted((name.lstrip("_0123456789"), str(each)) for name, each in constraints.items())
                found[table] = (sorted(map(str, columns)), keys)
    return found


def rows(database):
    with database.cursor() as cursor:
        counts = []
        for table in TABLES:
            cursor.execute(f"SELECT count(*) FROM {table}")
            counts.append(cursor.fetchone()[0])
    return counts


def test_migrations_are_reversed_and_applied_again_with_rows(released_database):
    before = schema(released_database)
    migrate(released_database)
    newest = schema(released_database)

    migrate(released_database, *RELEASED)
    assert schema(released_database) == before

    migrate(released_database)
    assert schema(released_database) == newest
    assert rows(released_database) == [ROWS] * len(TABLES)


def test_all_migrations_are_reversed(released_database):
    migrate(released_database)
    with released_database.cursor() as cursor:
        tables = released_database.introspection.table_names(cursor)

    migrate(released_database, ("bookmarks", None), ("usergroups", None))

    assert [table for table in tables if table.startswith(("bookmarks_", "usergroups_"))]
    assert schema(released_database) == {}


class ExcludeAll:
    def allow_migrate(self, db, app_label, **hints):
        return False


def test_nothing_is_created_in_a_database_that_a_router_excludes(tmp_path, settings, django_db_blocker):
    settings.DATABASE_ROUTERS = [f"{__name__}.ExcludeAll"]

    with django_db_blocker.unblock(), new_database(tmp_path) as database:
        migrate(database)
        assert schema(database) == {}

        migrate(database, ("bookmarks", None), ("usergroups", None))
