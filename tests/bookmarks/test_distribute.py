"""The command ``distribute`` on databases of its own, and the check that recommends it."""

import os
from contextlib import closing, contextmanager
from io import StringIO

import pytest
from django.core import checks
from django.core.management import CommandError, call_command
from django.db import connection, migrations, models
from django.db.migrations.state import ProjectState

from bookmarks.distribution import DISTRIBUTED, REFERENCE, Schema
from bookmarks.models import Bookmark, Collection
from tests.bookmarks.factories import BookmarkFactory, CollectionFactory

postgresql = pytest.mark.skipif(connection.vendor != "postgresql", reason="the database is not PostgreSQL")


def execute(sql):
    with connection._nodb_cursor() as cursor:
        cursor.execute(sql)


@contextmanager
def new_database(name, template="template1"):
    """Create a database, and drop it when the block ends."""
    execute(f"CREATE DATABASE {name} TEMPLATE {template}")
    try:
        yield
    finally:
        execute(f"DROP DATABASE {name} WITH (FORCE)")


@contextmanager
def use_database(name):
    """Let Django use another database until the block ends."""
    original = connection.settings_dict["NAME"]
    connection.close()
    connection.settings_dict["NAME"] = name
    try:
        yield
    finally:
        connection.close()
        connection.settings_dict["NAME"] = original


@pytest.fixture(scope="module")
def migrated(django_db_setup, django_db_blocker):
    """Create a database with the tables and return its name."""
    name = f"distribute_{os.getpid()}"
    with django_db_blocker.unblock(), new_database(name):
        with use_database(name):
            call_command("migrate", verbosity=0)
        yield name


@pytest.fixture
def database(migrated, django_db_blocker):
    """Let Django use a copy of the database until the test ends."""
    name = f"{migrated}_copy"
    with django_db_blocker.unblock(), new_database(name, template=migrated), use_database(name):
        yield


def distribute(*options):
    """Run the command and return its output and its message."""
    output, message = StringIO(), StringIO()
    call_command("distribute", *options, stdout=output, stderr=message)
    return output.getvalue(), message.getvalue().strip()


def rows(*queries):
    with connection.cursor() as cursor:
        results = []
        for sql in queries:
            cursor.execute(sql)
            results.append(sorted(map(str, cursor.fetchall())))
        return results


CONTENT = [f"SELECT * FROM {table}" for table in DISTRIBUTED]
INDEXES = [
    f"SELECT indexname, replace(indexdef, ' ON ONLY ', ' ON ') FROM pg_indexes WHERE tablename = '{table}' "
    "AND indexname NOT LIKE '%_pkey'"
    for table in DISTRIBUTED
]
COLUMNS = [
    "SELECT column_name, data_type, column_default, is_nullable, character_maximum_length "
    f"FROM information_schema.columns WHERE table_name = '{table}'"
    for table in DISTRIBUTED
]
CONSTRAINTS = [
    f"SELECT conname, contype FROM pg_constraint WHERE conrelid = '{table}'::regclass AND conparentid = 0"
    for table in DISTRIBUTED
]


@postgresql
@pytest.mark.parametrize("rows_before", [0, 30], ids=["empty", "filled"])
def test_rows_and_definitions_are_preserved(database, rows_before):
    for collection in CollectionFactory.create_batch(rows_before):
        BookmarkFactory(user_group=collection.user_group, collection=collection)
        BookmarkFactory(user_group=collection.user_group)
    before = rows(*CONTENT, *INDEXES, *COLUMNS, *CONSTRAINTS)

    assert distribute("--partitions", "4") == ("", "Distributed the tables.")

    assert rows(*CONTENT, *INDEXES, *COLUMNS, *CONSTRAINTS) == before
    assert [len(each) for each in before[:2]] == [rows_before, 2 * rows_before]
    assert [Schema(connection).partitions(table) for table in DISTRIBUTED] == [4, 4]


@postgresql
def test_the_keys_contain_the_user_group(database):
    distribute("--partitions", "2")

    keys = rows(f"SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid IN ('{DISTRIBUTED[0]}'::regclass, "
                f"'{DISTRIBUTED[1]}'::regclass) AND conparentid = 0")  # fmt: skip
    assert keys == [sorted([
        *["('PRIMARY KEY (id, user_group_id)',)"] * 2,
        *["('FOREIGN KEY (user_group_id) REFERENCES usergroups_usergroup(id) DEFERRABLE INITIALLY DEFERRED',)"] * 2,
        "('FOREIGN KEY (user_group_id, collection_id) REFERENCES bookmarks_collection(user_group_id, id) DEFERRABLE "
        "INITIALLY DEFERRED',)",
    ])]  # fmt: skip


@postgresql
def test_a_second_run_changes_nothing(database):
    distribute("--partitions", "4")

    assert distribute("--partitions", "4", "--dry-run")[0] == ""
    assert distribute("--partitions", "4") == ("", "The tables are distributed already.")


@postgresql
def test_another_number_of_partitions_copies_the_rows_again(database):
    BookmarkFactory.create_batch(10)
    distribute("--partitions", "4")
    before = rows(*CONTENT, *INDEXES, *COLUMNS, *CONSTRAINTS)

    distribute("--partitions", "3")

    assert rows(*CONTENT, *INDEXES, *COLUMNS, *CONSTRAINTS) == before
    assert [Schema(connection).partitions(table) for table in DISTRIBUTED] == [3, 3]


@postgresql
def test_a_dry_run_prints_exactly_the_statements_of_the_run(database):
    executed = []

    def record(execute, sql, params, many, context):
        executed.append(sql)
        return execute(sql, params, many, context)

    output, _ = distribute("--partitions", "4", "--dry-run")
    with connection.execute_wrapper(record):
        distribute("--partitions", "4")

    statements = [sql for sql in executed if not sql.lstrip().startswith("SELECT")]
    assert output.split(";\n")[:-1] == ["BEGIN", *statements, "COMMIT"]


@postgresql
@pytest.mark.parametrize(
    ("statement", "name"),
    [
        ("ALTER TABLE bookmarks_bookmark ENABLE ROW LEVEL SECURITY", "row-level security"),
        ("ALTER TABLE bookmarks_collection SET (fillfactor = 70)", "storage parameters"),
        (
            "CREATE TRIGGER own BEFORE UPDATE ON bookmarks_bookmark FOR EACH ROW "
            "EXECUTE FUNCTION suppress_redundant_updates_trigger()",
            "triggers",
        ),
    ],
)
def test_nothing_that_would_be_lost_is_dropped(database, statement, name):
    with connection.cursor() as cursor:
        cursor.execute(statement)

    with pytest.raises(CommandError, match=f"The tables have {name}\\."):
        distribute("--partitions", "4")

    assert Schema(connection).partitions(DISTRIBUTED[0]) == 0


@postgresql
def test_privileges_are_granted_again(database):
    role = f"reader_{os.getpid()}"
    query = f"SELECT grantee, privilege_type FROM information_schema.table_privileges WHERE grantee = '{role}'"
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE ROLE {role}")
        cursor.execute(f"GRANT SELECT, INSERT ON bookmarks_bookmark TO {role}")
    try:
        before = rows(query)
        distribute("--partitions", "2")
        assert rows(query) == before
        assert before != [[]]
    finally:
        with connection.cursor() as cursor:
            cursor.execute(f"DROP OWNED BY {role}")
            cursor.execute(f"DROP ROLE {role}")


@postgresql
def test_a_failure_changes_nothing(database):
    bookmark = BookmarkFactory()
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE notes (bookmark uuid REFERENCES bookmarks_bookmark (id))")

    with pytest.raises(CommandError, match=r"Nothing was changed\.(?s:.)*table notes"):
        distribute("--partitions", "4")

    assert Bookmark.objects.get() == bookmark
    assert Schema(connection).partitions("bookmarks_bookmark") == 0


@postgresql
def test_later_migrations_work_on_partitions(database):
    BookmarkFactory()
    distribute("--partitions", "4")
    model = {"model_name": "bookmark"}
    operations = [
        migrations.AddField(**model, name="note", field=models.CharField(max_length=9, db_default="none")),
        migrations.AddIndex(**model, index=models.Index(fields=["note"], name="bookmarks_note")),
        migrations.AddConstraint(
            **model, constraint=models.CheckConstraint(condition=models.Q(note__gt=""), name="note_not_empty")
        ),
        migrations.AlterField(**model, name="note", field=models.TextField(db_default="none")),
        migrations.RemoveIndex(**model, name="bookmarks_by_group"),
        migrations.RemoveConstraint(**model, name="bookmarks_url"),
    ]
    state = ProjectState.from_apps(Bookmark._meta.apps)

    with connection.schema_editor() as editor:
        for operation in operations:
            before, state = state, state.clone()
            operation.state_forwards("bookmarks", state)
            operation.database_forwards("bookmarks", editor, before, state)

    assert rows("SELECT note FROM bookmarks_bookmark") == [["('none',)"]]
    assert "bookmarks_note" in str(rows(*INDEXES)) and "bookmarks_url" not in str(rows(*INDEXES))


@postgresql
def test_a_database_without_tables_is_refused(database):
    with connection.cursor() as cursor:
        cursor.execute("DROP TABLE bookmarks_bookmark")

    with pytest.raises(CommandError, match=r"Run manage\.py migrate first"):
        distribute("--partitions", "4")


@postgresql
def test_a_database_without_citus_needs_the_number_of_partitions(database):
    with pytest.raises(CommandError, match=r"CREATE EXTENSION citus.*--partitions"):
        distribute()


@pytest.mark.skipif(connection.vendor == "postgresql", reason="the database is PostgreSQL")
def test_other_databases_are_refused(db):
    with pytest.raises(CommandError, match=r"not PostgreSQL\. Set DATABASE_URL"):
        distribute("--partitions", "4")


@pytest.mark.parametrize("number", ["0", "-1", "x", "1.5"])
def test_the_number_of_partitions_is_positive(number):
    with pytest.raises(CommandError, match=r"not a positive integer|expected one argument"):
        distribute("--partitions", number)


def warnings():
    return [message.id for message in checks.run_checks(tags=[checks.Tags.database], databases=["default"])]


@postgresql
def test_a_database_with_citus_is_checked(database, monkeypatch):
    assert warnings() == []

    monkeypatch.setattr(Schema, "has_citus", lambda schema: True)
    monkeypatch.setattr(Schema, "on_citus", lambda schema: set(REFERENCE))
    assert warnings() == ["bookmarks.W001"]
    with pytest.raises(CommandError, match="Omit --partitions"):
        distribute("--partitions", "4")

    monkeypatch.setattr(Schema, "on_citus", lambda schema: {*REFERENCE, *DISTRIBUTED})
    assert warnings() == []
    assert distribute() == ("", "The tables are distributed already.")


def test_a_database_without_citus_is_not_warned_about(db):
    assert warnings() == []


@postgresql
def test_the_database_refuses_a_collection_of_another_group(database):
    distribute("--partitions", "4")
    collection = CollectionFactory()
    other = BookmarkFactory()

    with closing(connection), pytest.raises(Exception, match="foreign key"):
        Bookmark.objects.filter(pk=other.pk).update(collection=collection)

    assert Bookmark.objects.get().collection_id is None
    assert Collection.objects.get() == collection
