"""The commands ``distribute`` and ``undistribute`` on PostgreSQL without Citus,
whose functions are replaced.
"""

import os
from contextlib import contextmanager
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from bookmarks.citus.management.script_command import SCRIPTS
from tests.bookmarks.factories import BookmarkFactory, CollectionFactory
from tests.usergroups.factories import UserGroupFactory
from usergroups.models import UserGroup

postgresql = pytest.mark.skipif(
    connection.vendor != "postgresql", reason="the database is not PostgreSQL"
)

CITUS = """
    CREATE TABLE pg_dist_partition (logicalrelid regclass PRIMARY KEY);
    CREATE FUNCTION create_reference_table(name text) RETURNS void LANGUAGE sql
        AS 'INSERT INTO pg_dist_partition VALUES (name::regclass)';
    CREATE FUNCTION create_distributed_table(name text, by text, colocate_with text) RETURNS void LANGUAGE sql
        AS 'INSERT INTO pg_dist_partition VALUES (name::regclass)';
    CREATE FUNCTION undistribute_table(name text, cascade_via_foreign_keys boolean DEFAULT false) RETURNS void LANGUAGE sql
        AS 'DELETE FROM pg_dist_partition WHERE logicalrelid = name::regclass OR cascade_via_foreign_keys';
    CREATE FUNCTION truncate_local_data_after_distributing_table(name text) RETURNS void LANGUAGE sql AS '';
"""
"""Replacements of the functions of Citus that the scripts call.

They record the distributed tables.
"""


@contextmanager
def new_database(name):
    """Let Django use a new database until the block ends."""

    def execute(sql):
        with connection._nodb_cursor() as cursor:
            cursor.execute(sql)

    original = connection.settings_dict["NAME"]
    execute(f"CREATE DATABASE {name}")
    connection.close()
    connection.settings_dict["NAME"] = name
    try:
        yield
    finally:
        connection.close()
        connection.settings_dict["NAME"] = original
        execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def database(django_db_setup, django_db_blocker):
    with django_db_blocker.unblock(), new_database(f"distribute_{os.getpid()}"):
        call_command("migrate", verbosity=0)
        yield


@pytest.fixture
def with_citus(database):
    with connection.cursor() as cursor:
        cursor.execute(CITUS)


def run(command, *options):
    """Run a command and return its output and its message."""
    output = StringIO()
    message = StringIO()
    call_command(command, *options, stdout=output, stderr=message)
    return output.getvalue(), message.getvalue().strip()


def distribute(*options):
    return run("distribute", *options)


def rows(sql):
    with connection.cursor() as cursor:
        cursor.execute(sql)
        return sorted(cursor.fetchall())


CONSTRAINTS = """
    SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint
    WHERE conrelid IN (
        'bookmarks_collection'::regclass, 'bookmarks_bookmark'::regclass, 'bookmarks_deletion'::regclass
    )
"""


@postgresql
def test_distributing_a_filled_database_changes_its_keys(with_citus):
    collection = CollectionFactory()
    BookmarkFactory(user_group=collection.user_group, collection=collection)
    before = dict(rows(CONSTRAINTS))

    assert distribute() == ("", "Distributed the tables.")

    tables = ("bookmark", "collection", "deletion")
    keys = {
        f"bookmarks_{table}_pkey": "PRIMARY KEY (id, user_group_id)" for table in tables
    }
    assert dict(rows(CONSTRAINTS)) == {**before, **keys}


@postgresql
def test_each_table_of_the_apps_is_distributed(with_citus):
    distribute()

    tables = rows(
        "SELECT relname FROM pg_class WHERE relkind = 'r' AND relname ~ "
        "'^(usergroups|bookmarks)_'"
    )
    assert rows("SELECT logicalrelid::text FROM pg_dist_partition") == tables


RECORD_STATEMENTS = """
    CREATE TABLE arrived (id serial, sql text);
    CREATE FUNCTION record() RETURNS event_trigger LANGUAGE plpgsql
        AS 'BEGIN INSERT INTO arrived (sql) VALUES (current_query()); END';
    CREATE EVENT TRIGGER record ON ddl_command_end
        WHEN TAG IN ('ALTER TABLE') EXECUTE FUNCTION record();
    CREATE OR REPLACE FUNCTION create_reference_table(name text) RETURNS void LANGUAGE sql
        AS 'INSERT INTO arrived (sql) VALUES (current_query())';
"""
"""Records the text of statements as the server has received it."""


@postgresql
def test_each_statement_arrives_alone_and_all_in_one_transaction(with_citus):
    assert connection.settings_dict["OPTIONS"]["server_side_binding"]
    with connection.cursor() as cursor:
        cursor.execute(RECORD_STATEMENTS)

    distribute()

    arrived = rows("SELECT id, sql FROM arrived")
    last_lines = [sql.splitlines()[-1].split() for _id, sql in arrived]
    foreign_keys = ["FOREIGN", "FOREIGN", "DEFERRABLE", "FOREIGN"]
    first_words = [words[0] for words in last_lines]
    assert first_words == ["ADD"] * 3 + ["SELECT"] * 6 + foreign_keys
    assert {sql.count(";") for _id, sql in arrived} == {1}
    assert rows("SELECT count(DISTINCT xmin::text) FROM arrived") == [(1,)]


@postgresql
def test_a_failure_changes_nothing(with_citus):
    distribute()
    before = rows(CONSTRAINTS)

    failure = r"^The database failed: duplicate key .* Nothing was changed\.$"
    with pytest.raises(CommandError, match=failure):
        distribute()  # The tables are distributed already.

    assert rows(CONSTRAINTS) == before


SCHEMA = """
    SELECT c.relname::text, a.attname::text, a.attidentity::text FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
    WHERE c.relname ~ '^(usergroups|bookmarks)_' AND a.attnum > 0
    UNION ALL SELECT conrelid::regclass::text, conname::text, pg_get_constraintdef(oid) FROM pg_constraint
    UNION ALL SELECT tablename::text, indexname::text, indexdef FROM pg_indexes WHERE schemaname = 'public'
"""


@postgresql
def test_the_way_back_restores_the_schema(with_citus):
    before = rows(SCHEMA)
    distribute()
    assert rows(SCHEMA) != before

    assert run("undistribute") == ("", "Moved the tables back.")

    assert rows(SCHEMA) == before
    assert rows("SELECT logicalrelid::text FROM pg_dist_partition") == []
    assert distribute() == ("", "Distributed the tables.")


@postgresql
def test_ids_of_deleted_rows_are_not_used_again_after_the_way_back(with_citus):
    distribute()
    kept = BookmarkFactory().user_group
    deleted_id = UserGroupFactory().pk
    UserGroup.objects.filter(pk=deleted_id).delete()

    run("undistribute")

    assert UserGroupFactory(team=kept.team).pk > deleted_id


@pytest.mark.parametrize("command", ["distribute", "undistribute"])
def test_a_dry_run_prints_the_script(db, command):
    assert run(command, "--dry-run") == ((SCRIPTS / f"{command}.sql").read_text(), "")


@postgresql
def test_a_database_without_citus_is_refused(database):
    failure = "function create_reference_table.* does not exist"
    with pytest.raises(CommandError, match=f"The database failed: {failure}"):
        distribute()


@pytest.mark.skipif(
    connection.vendor == "postgresql", reason="the database is PostgreSQL"
)
@pytest.mark.parametrize("command", ["distribute", "undistribute"])
def test_other_databases_are_refused(db, command):
    with pytest.raises(CommandError, match=r"not PostgreSQL\. Set DATABASE_URL"):
        run(command)
