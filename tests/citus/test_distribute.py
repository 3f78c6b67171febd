"""The script that distributes the tables, with functions in place of those of Citus."""

import os
import re
import shlex
import shutil
from contextlib import closing, contextmanager

import pytest
from django.core.management import CommandError, call_command
from django.db import IntegrityError, connection

from bookmarks.models import Bookmark
from tests.bookmarks.factories import BookmarkFactory, CollectionFactory
from tests.documents import ROOT

pytestmark = [
    pytest.mark.skipif(connection.vendor != "postgresql", reason="the database is not PostgreSQL"),
    pytest.mark.skipif(shutil.which("psql") is None, reason="psql is not installed"),
]

CITUS = """
    CREATE TABLE pg_dist_partition (logicalrelid regclass PRIMARY KEY);
    CREATE FUNCTION create_reference_table(name text) RETURNS void LANGUAGE sql
        AS 'INSERT INTO pg_dist_partition VALUES (name::regclass)';
    CREATE FUNCTION create_distributed_table(name text, by text, colocate_with text) RETURNS void LANGUAGE sql
        AS 'INSERT INTO pg_dist_partition VALUES (name::regclass)';
    CREATE FUNCTION truncate_local_data_after_distributing_table(name text) RETURNS void LANGUAGE sql AS '';
"""
"""What the script uses of Citus."""


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


def distribute():
    """Run the documented command."""
    [options] = re.findall(r"manage\.py dbshell (.*)", (ROOT / "docs/citus.md").read_text())
    call_command("dbshell", *shlex.split(options))


def rows(sql):
    with connection.cursor() as cursor:
        cursor.execute(sql)
        return sorted(cursor.fetchall())


CONSTRAINTS = """
    SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint
    WHERE conrelid IN ('bookmarks_collection'::regclass, 'bookmarks_bookmark'::regclass)
"""


def test_a_filled_database_is_distributed_once(with_citus):
    collection = CollectionFactory()
    BookmarkFactory(user_group=collection.user_group, collection=collection)
    before = dict(rows(CONSTRAINTS))

    distribute()

    after = dict(rows(CONSTRAINTS))
    assert after.keys() == before.keys()
    assert {name: definition for name, definition in after.items() if before[name] != definition} == {
        "bookmarks_bookmark_pkey": "PRIMARY KEY (id, user_group_id)",
        "bookmarks_collection_pkey": "PRIMARY KEY (id, user_group_id)",
        "bookmarks_bookmark_collection_id_122a736d_fk_bookmarks": (
            "FOREIGN KEY (user_group_id, collection_id) REFERENCES bookmarks_collection(user_group_id, id) "
            "DEFERRABLE INITIALLY DEFERRED"
        ),
    }


def test_each_table_of_the_apps_is_distributed(with_citus):
    distribute()

    tables = rows("SELECT relname FROM pg_class WHERE relkind = 'r' AND relname ~ '^(usergroups|bookmarks)_'")
    assert rows("SELECT logicalrelid::text FROM pg_dist_partition") == tables


def test_a_failure_changes_nothing(with_citus, capfd):
    distribute()
    before = rows(CONSTRAINTS)

    with pytest.raises(CommandError, match="returned non-zero exit status"):
        distribute()  # The tables are distributed already.

    assert rows(CONSTRAINTS) == before
    assert "duplicate key" in capfd.readouterr().err


def test_the_database_refuses_a_collection_of_another_group(with_citus):
    distribute()
    collection, bookmark = CollectionFactory(), BookmarkFactory()

    # The error aborts the transaction of the test, which nothing may use after that.
    with closing(connection), pytest.raises(IntegrityError, match="foreign key"):
        Bookmark.objects.filter(pk=bookmark.pk).update(collection=collection)


def test_a_database_without_citus_is_refused(database, capfd):
    with pytest.raises(CommandError, match="returned non-zero exit status"):
        distribute()

    assert re.search("function create_reference_table.* does not exist", capfd.readouterr().err)
