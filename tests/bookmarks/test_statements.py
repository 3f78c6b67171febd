"""Statements that are compiled once: the same rows as the ORM, broken connections, and prepared statements."""

from contextlib import closing
from datetime import UTC, datetime

import pytest
from django.db import DatabaseError, OperationalError, connection, connections, transaction
from django.test.utils import CaptureQueriesContext

from bookmarks.models import AccessToken, Bookmark, Collection
from tests.bookmarks.factories import AccessTokenFactory, BookmarkFactory, CollectionFactory
from tests.queries import on_another_connection, queries_of
from tests.signals import received
from tests.usergroups.factories import ApiTokenFactory, UserGroupFactory
from usergroups.compiled_statements import CompiledInsert, CompiledSelect, CompiledUpdate, parameters
from usergroups.models import ApiToken, UserGroup

pytestmark = pytest.mark.django_db


def values_of(row):
    return {field.attname: getattr(row, field.attname) for field in row._meta.concrete_fields}


def select(model, *names, **options):
    return CompiledSelect(model.objects.filter(**parameters(model, *names)), **options)


@pytest.mark.parametrize(
    "factory", [UserGroupFactory, CollectionFactory, BookmarkFactory, ApiTokenFactory, AccessTokenFactory]
)
def test_a_row_is_the_one_that_the_orm_reads(factory):
    row = factory()
    factory()

    [found] = select(type(row), "id")(id=row.pk)

    assert values_of(found) == values_of(type(row).objects.get(pk=row.pk))
    assert found._state.db == "default" and not found._state.adding


def test_a_relation_is_read_with_the_row(collection):
    bookmark = BookmarkFactory(user_group=collection.user_group, collection=collection)

    [found] = select(Bookmark, "id", "user_group", related="collection")(
        id=bookmark.pk, user_group=collection.user_group_id
    )

    assert queries_of(lambda: found.collection.name) == []
    assert values_of(found.collection) == values_of(Collection.objects.get())


def test_a_missing_relation_is_none(user_group):
    bookmark = BookmarkFactory(user_group=user_group, collection=None)

    [found] = select(Bookmark, "id", related="collection")(id=bookmark.pk)

    assert queries_of(lambda: found.collection) == [] and found.collection is None


def test_no_row_is_an_empty_list():
    assert select(UserGroup, "provided_id")(provided_id="unknown") == []


def test_an_update_returns_the_rows_after_it(user_group):
    other = UserGroupFactory(team=user_group.team, name="Old")
    update = CompiledUpdate(UserGroup.objects.filter(**parameters(UserGroup, "id")), "name", "properties")

    [updated] = update(
        id=user_group.pk, name="New", properties={"n": 10**30, "é": [None, 1.5]}, updated_at=datetime.now(UTC)
    )

    stored = UserGroup.objects.get(pk=user_group.pk)
    assert (stored.name, stored.properties) == ("New", {"n": 10**30, "é": [None, 1.5]})
    assert values_of(updated) == values_of(stored)
    other.refresh_from_db()
    assert other.name == "Old"


def test_an_insert_stores_all_fields_or_nothing(user_group):
    time = datetime(2026, 1, 31, 9, 26, 53, 123456, tzinfo=UTC)
    fields = {
        "user_group": user_group,
        "url": "https://example.com/%s?%(a)s",
        "title": "100 % 'ü\\",
        "created_at": time,
    }
    first, second = Bookmark(**fields), Bookmark(**fields)
    insert = CompiledInsert(Bookmark, "default")

    assert insert.insert(first)
    assert not insert.insert(second)

    assert values_of(Bookmark.objects.get()) == values_of(first)
    assert (first._state.adding, first._state.db) == (False, "default")
    assert second._state.adding


def test_the_statement_is_the_same_for_all_values(user_group):
    statement = select(UserGroup, "provided_id", "team_id")

    with CaptureQueriesContext(connection) as captured:
        statement(provided_id=user_group.provided_id, team_id=user_group.team_id)
        statement(provided_id="'; --", team_id=-1)

    assert len(captured) == 2
    assert statement.sql.count("%s") == 2


@pytest.mark.parametrize("call", ["authenticate", "change", "add", "find a bookmark", "find a collection"])
def test_nothing_is_compiled_again(call, user_group, collection, monkeypatch):
    token, secret = ApiToken.objects.issue(team=user_group.team, environment=user_group.environment)
    bookmark = BookmarkFactory(user_group=user_group)
    calls = {
        "authenticate": lambda n: ApiToken.objects.authenticate(secret),
        "change": lambda n: UserGroup.objects.change_in_scope(token.scope, user_group.provided_id, name=f"Name {n}"),
        "add": lambda n: Bookmark.objects.add(user_group=user_group, url=f"https://example.com/{n}"),
        "find a bookmark": lambda n: Bookmark.objects.find(user_group, str(bookmark.pk)),
        "find a collection": lambda n: Collection.objects.find(user_group, str(collection.pk)),
    }
    calls[call](1)
    compiled = []
    monkeypatch.setattr("django.db.models.sql.Query.get_compiler", lambda *args, **kwargs: compiled.append(args))

    assert calls[call](2)

    assert compiled == []


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("call", ["change", "add"])
def test_a_write_is_one_statement_without_begin_and_commit(call):
    user_group = UserGroupFactory()
    scope = {"team_id": user_group.team_id, "environment": user_group.environment}
    calls = {
        "change": lambda: UserGroup.objects.change_in_scope(scope, user_group.provided_id, name="New"),
        "add": lambda: Bookmark.objects.add(user_group=user_group, url="https://example.com/"),
    }

    with CaptureQueriesContext(connection) as captured:
        calls[call]()

    assert [query["sql"].split()[0] for query in captured] == [{"change": "UPDATE", "add": "INSERT"}[call]]


@pytest.mark.django_db(transaction=True)
def test_a_failed_write_does_not_abort_an_outer_transaction(user_group):
    with transaction.atomic():
        with pytest.raises(DatabaseError), connection.execute_wrapper(failing_insert):
            Bookmark.objects.add(user_group=user_group, url="https://example.com/")
        assert UserGroup.objects.filter(pk=user_group.pk).exists()


def failing_insert(execute, sql, params, many, context):
    if sql.startswith("INSERT"):
        execute("SELECT 1 FROM missing_table", None, many, context)
    return execute(sql, params, many, context)


# Connections to PostgreSQL

on_postgresql = pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has no server")


@pytest.fixture
def without_autocommit(transactional_db):
    transaction.set_autocommit(False)
    yield
    connection.close()


def end_server_process():
    """End the process of PostgreSQL that serves the connection."""
    with closing(connection.copy()) as other, other.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(%s, 60000)", [connection.connection.info.backend_pid])


def begin_request_on_broken_connection():
    connection.health_check_done = False  # as at the beginning of a request
    end_server_process()


@on_postgresql
@pytest.mark.django_db(transaction=True)
def test_a_read_is_repeated_if_the_connection_is_broken():
    token = ApiTokenFactory()
    begin_request_on_broken_connection()

    assert ApiToken.objects.authenticate(token.secret) == token


@on_postgresql
@pytest.mark.django_db(transaction=True)
def test_a_write_replaces_a_broken_connection():
    user_group = UserGroupFactory()
    begin_request_on_broken_connection()

    assert Bookmark.objects.add(user_group=user_group, url="https://example.com/")[1]


@on_postgresql
@pytest.mark.usefixtures("without_autocommit")
def test_a_read_in_a_transaction_is_not_repeated():
    token = ApiTokenFactory()
    end_server_process()

    with pytest.raises(OperationalError):
        ApiToken.objects.authenticate(token.secret)


@on_postgresql
@pytest.mark.django_db(transaction=True)
def test_a_read_replaces_the_health_check(monkeypatch):
    token = ApiTokenFactory()
    monkeypatch.setattr(connections["default"], "health_check_done", False)
    monkeypatch.setattr(connections["default"], "health_check_enabled", True)
    monkeypatch.setattr(connections["default"], "is_usable", lambda: pytest.fail("there was a health check"))

    assert ApiToken.objects.authenticate(token.secret) == token
    assert UserGroup.objects.count() == 0


@on_postgresql
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(("threshold", "prepared"), [(None, 0), (0, 1)])
def test_statements_are_prepared_if_the_connection_has_a_threshold(threshold, prepared, monkeypatch):
    user_group = UserGroupFactory()
    monkeypatch.setattr(connection.connection, "prepare_threshold", threshold)
    statement = select(UserGroup, "provided_id", "environment", "name")

    for _ in range(3):
        statement(provided_id=user_group.provided_id, environment=user_group.environment, name="Any")

    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_prepared_statements WHERE statement LIKE %s", ["%usergroups_usergroup%"]
        )
        assert cursor.fetchone()[0] == prepared


@on_postgresql
@pytest.mark.django_db(transaction=True)
def test_statements_run_while_the_type_of_a_column_changes(monkeypatch):
    user_group = UserGroupFactory()
    token, secret = ApiToken.objects.issue(team=user_group.team, environment=user_group.environment)

    def call(name):
        ApiToken.objects.authenticate(secret)
        UserGroup.objects.change_in_scope(token.scope, user_group.provided_id, name=name)

    def change_types(length):
        with connection.cursor() as cursor:
            for table in ("usergroups_usergroup", "usergroups_team", "usergroups_apitoken"):
                cursor.execute(f"ALTER TABLE {table} ALTER COLUMN name TYPE varchar({length})")

    try:
        monkeypatch.setattr(connection.connection, "prepare_threshold", 0)
        call("Before")
        on_another_connection(lambda: change_types(300))

        call("After")
    finally:
        change_types(255)
    user_group.refresh_from_db()
    assert user_group.name == "After"


# Values and filters


@pytest.mark.parametrize("versions", [None, "any"])
def test_null_is_stored_as_sql_null(user_group, versions):
    UserGroup.objects.update(properties={"a": 1})
    versions = versions and [user_group.updated_at]
    scope = {"team_id": user_group.team_id, "environment": user_group.environment}

    UserGroup.objects.change_in_scope(scope, user_group.provided_id, versions, properties=None)

    assert UserGroup.objects.filter(properties__isnull=True).exists()


@pytest.mark.parametrize("model", [ApiToken, AccessToken])
def test_filters_limit_which_tokens_authenticate(model):
    token = {ApiToken: ApiTokenFactory, AccessToken: AccessTokenFactory}[model]()

    assert model.objects.filter(pk=token.pk).authenticate(token.secret) == token
    assert model.objects.exclude(pk=token.pk).authenticate(token.secret) is None
    assert model.objects.none().authenticate(token.secret) is None


def test_the_manager_keeps_its_hints():
    UserGroup.objects.all()

    assert UserGroup.objects.db_manager(hints={"reason": "a test"}).all()._hints == {"reason": "a test"}


@on_postgresql
@pytest.mark.usefixtures("without_autocommit")
def test_a_write_without_autocommit_is_part_of_the_transaction():
    user_group = UserGroupFactory()
    transaction.commit()

    with received():
        Bookmark.objects.add(user_group=user_group, url="https://example.com/")

    assert Bookmark.objects.count() == 1
    transaction.rollback()
    assert Bookmark.objects.count() == 0
