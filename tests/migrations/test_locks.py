"""No migration blocks the callers of a table while it does work in proportion to the table."""

import pytest
from django.db import connection, migrations, models, transaction
from django.db.migrations.executor import MigrationExecutor
from django.db.models import Func
from django.db.models.functions import Now, Random

from tests.migrations.conftest import ROWS, migrate, second_database
from tests.migrations.locks import watched
from usergroups.migration_operations import AddIndexConcurrently

pytestmark = pytest.mark.skipif(connection.vendor != "postgresql", reason="only PostgreSQL has locks on tables")


def test_no_migration_since_the_release_holds_up_callers(released_database):
    with watched(released_database) as recorded:
        migrate(released_database)

    assert recorded == []


def apply(database, *operations, atomic=True):
    """Apply a migration of the app ``bookmarks`` with these operations. Return what holds up callers."""
    Migration = type("Migration", (migrations.Migration,), {"operations": list(operations), "atomic": atomic})
    executor = MigrationExecutor(database)
    state = executor.loader.project_state(executor.loader.graph.leaf_nodes())
    with watched(database) as recorded:
        executor.apply_migration(state, Migration("9999_test", "bookmarks"))
    return recorded


INDEX = models.Index(fields=["title"], name="bookmarks_by_title")
OTHER_INDEX = models.Index(fields=["name"], name="bookmarks_by_name")


NOT_EMPTY = models.CheckConstraint(condition=~models.Q(title="x"), name="bookmarks_new")


def update_all(apps, schema_editor):
    rows = apps.get_model("bookmarks", "Bookmark").objects.using(schema_editor.connection.alias)
    for row in rows.all():
        rows.filter(pk=row.pk).update(title="x")


def update_in_chunks(apps, schema_editor):
    rows = apps.get_model("bookmarks", "Bookmark").objects.using(schema_editor.connection.alias)
    while chunk := list(rows.filter(title="").values_list("pk", flat=True)[: ROWS // 3]):
        with transaction.atomic(using=schema_editor.connection.alias):
            rows.filter(pk__in=chunk).update(title="x")


BAD = {
    "index": migrations.AddIndex("bookmark", INDEX),
    "volatile default": migrations.AddField("bookmark", "rank", models.FloatField(db_default=Random())),
    "type": migrations.AlterField("bookmark", "title", models.CharField(max_length=10)),
    "not null": migrations.AlterField(
        "bookmark", "collection", models.ForeignKey("bookmarks.collection", models.CASCADE)
    ),
    "foreign key": migrations.AlterField(
        "accesstoken", "user_group", models.ForeignKey("usergroups.usergroup", models.CASCADE, "access_tokens")
    ),
    "unique": migrations.AddConstraint(
        "bookmark", models.UniqueConstraint(fields=["created_at", "id"], name="bookmarks_new")
    ),
    "check": migrations.AddConstraint("bookmark", NOT_EMPTY),
    "function default": migrations.AddField(
        "bookmark", "at", models.DateTimeField(db_default=Func(function="clock_timestamp"))
    ),
    "update": migrations.RunPython(update_all),
    "update in one statement": migrations.RunSQL("UPDATE bookmarks_bookmark SET title = 'x'"),
    "lock": migrations.RunSQL("LOCK TABLE bookmarks_collection; SELECT count(*) FROM bookmarks_bookmark"),
}
GOOD = {
    "nullable": migrations.AddField("bookmark", "rank", models.FloatField(null=True)),
    "constant default": migrations.AddField("bookmark", "rank", models.FloatField(db_default=1.5)),
    "default of the statement": migrations.AddField("bookmark", "at", models.DateTimeField(db_default=Now())),
    "longer": migrations.AlterField("bookmark", "title", models.CharField(max_length=2000)),
    "new table": migrations.CreateModel("New", [("id", models.BigAutoField(primary_key=True))]),
    "removed": migrations.RemoveField("bookmark", "title"),
}


@pytest.fixture(scope="module")
def migrated_database(tmp_path_factory, django_db_blocker):
    with django_db_blocker.unblock(), second_database(tmp_path_factory.mktemp("migrated")) as database:
        yield database


@pytest.fixture
def rolled_back(migrated_database):
    """Return a connection whose changes are rolled back after the test."""
    with transaction.atomic(using=migrated_database.alias):
        yield migrated_database
        transaction.set_rollback(True, using=migrated_database.alias)


@pytest.mark.parametrize("operation", BAD.values(), ids=BAD)
def test_a_migration_that_holds_up_callers_is_found(rolled_back, operation):
    assert apply(rolled_back, operation)


@pytest.mark.parametrize("operation", GOOD.values(), ids=GOOD)
def test_a_migration_that_does_not_hold_up_callers_passes(rolled_back, operation):
    assert apply(rolled_back, operation) == []


def test_constraints_are_added_without_holding_up_callers(released_database):
    migrate(released_database)
    table, check = "ALTER TABLE bookmarks_bookmark", "CHECK (collection_id IS NOT NULL)"
    changes = [
        "CREATE UNIQUE INDEX CONCURRENTLY new ON bookmarks_bookmark (created_at, id)",
        f"{table} ADD CONSTRAINT new UNIQUE USING INDEX new",
        f"{table} ADD CONSTRAINT not_null {check} NOT VALID",
        f"{table} VALIDATE CONSTRAINT not_null",
        f"{table} ALTER collection_id SET NOT NULL",
    ]

    assert [apply(released_database, migrations.RunSQL(change), atomic=False) for change in changes] == [[]] * 5


def test_migrations_without_a_transaction_are_watched_too(released_database):
    migrate(released_database)

    assert apply(released_database, migrations.RunPython(update_in_chunks), atomic=False) == []
    assert apply(released_database, AddIndexConcurrently("bookmark", INDEX), atomic=False) == []
    assert apply(released_database, migrations.AddIndex("collection", OTHER_INDEX), atomic=False)
