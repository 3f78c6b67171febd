"""Statements that the ORM compiles once and runs again: their rows, broken
connections, and prepared statements.
"""

from contextlib import closing

import pytest
from django.db import DatabaseError, OperationalError, connection, transaction
from django.test.utils import CaptureQueriesContext

from bookmarks.models import Bookmark, Collection
from tests.bookmarks.factories import (
    AccessTokenFactory,
    BookmarkFactory,
    CollectionFactory,
)
from tests.queries import on_another_connection
from tests.usergroups.factories import ApiTokenFactory, UserGroupFactory
from usergroups.db.compiled_statements import CompiledSelect, parameters
from usergroups.models import ApiToken, UserGroup

pytestmark = pytest.mark.django_db


def values_of(row):
    return {
        field.attname: getattr(row, field.attname)
        for field in row._meta.concrete_fields
    }


def select(model, *names, **options):
    """Return a compiled statement that selects rows by the values of these
    fields.
    """
    return CompiledSelect(model.objects.filter(**parameters(model, *names)), **options)


@pytest.mark.parametrize(
    "factory",
    [
        UserGroupFactory,
        CollectionFactory,
        BookmarkFactory,
        ApiTokenFactory,
        AccessTokenFactory,
    ],
)
def test_a_row_is_the_one_that_the_orm_reads(factory):
    row = factory()
    factory()

    [found] = select(type(row), "id")(id=row.pk)

    assert values_of(found) == values_of(type(row).objects.get(pk=row.pk))
    assert found._state.db == "default" and not found._state.adding


@pytest.mark.parametrize(
    "call", ["authenticate", "change", "add", "find a bookmark", "find a collection"]
)
def test_nothing_is_compiled_again(call, user_group, collection, monkeypatch):
    token, secret = ApiToken.objects.issue(
        team=user_group.team, environment=user_group.environment
    )
    bookmark = BookmarkFactory(user_group=user_group)
    calls = {
        "authenticate": lambda n: ApiToken.objects.authenticate(secret),
        "change": lambda n: UserGroup.objects.change(
            user_group.provided_id, token.scope, name=f"Name {n}"
        ),
        "add": lambda n: Bookmark.objects.add(
            user_group=user_group, url=f"https://example.com/{n}"
        ),
        "find a bookmark": lambda n: Bookmark.objects.find(
            user_group, str(bookmark.pk)
        ),
        "find a collection": lambda n: Collection.objects.find(
            user_group, str(collection.pk)
        ),
    }
    calls[call](1)  # compiles the statement, unless an earlier test has
    compiled = []
    monkeypatch.setattr(
        "django.db.models.sql.Query.get_compiler",
        lambda *args, **kwargs: compiled.append(args),
    )

    assert calls[call](2)

    assert compiled == []


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("call", ["change", "add"])
def test_a_write_is_one_statement_without_begin_and_commit(call):
    user_group = UserGroupFactory()
    scope = {"team_id": user_group.team_id, "environment": user_group.environment}
    calls = {
        "change": lambda: UserGroup.objects.change(
            user_group.provided_id, scope, name="New"
        ),
        "add": lambda: Bookmark.objects.add(
            user_group=user_group, url="https://example.com/"
        ),
    }

    with CaptureQueriesContext(connection) as captured:
        calls[call]()

    assert [query["sql"].split()[0] for query in captured] == [
        {"change": "UPDATE", "add": "INSERT"}[call]
    ]


@pytest.mark.django_db(transaction=True)
def test_a_failed_write_does_not_abort_an_outer_transaction(user_group):
    with transaction.atomic():
        with pytest.raises(DatabaseError), connection.execute_wrapper(failing_insert):
            Bookmark.objects.add(user_group=user_group, url="https://example.com/")
        assert UserGroup.objects.filter(pk=user_group.pk).exists()


def failing_insert(execute, sql, params, many, context):
    """Let a statement fail in the database right before an INSERT.

    This is for ``execute_wrapper``.
    """
    if sql.startswith("INSERT"):
        execute("SELECT 1 FROM missing_table", None, many, context)
    return execute(sql, params, many, context)


# Connections to PostgreSQL

on_postgresql = pytest.mark.skipif(
    connection.vendor != "postgresql", reason="SQLite has no server"
)


def end_server_process():
    """End the process of PostgreSQL that serves the connection, and wait for
    its end for at most 60,000 ms.
    """
    with closing(connection.copy()) as other, other.cursor() as cursor:
        cursor.execute(
            "SELECT pg_terminate_backend(%s, 60000)",
            [connection.connection.info.backend_pid],
        )


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
def test_connecting_to_an_unreachable_server_is_not_repeated(monkeypatch):
    token, attempts = ApiTokenFactory(), []

    def refuse(parameters):
        attempts.append(parameters)
        raise OperationalError("timeout expired")

    connection.close()
    monkeypatch.setattr(connection, "get_new_connection", refuse)

    with pytest.raises(OperationalError):
        ApiToken.objects.authenticate(token.secret)

    assert len(attempts) == 1


@on_postgresql
@pytest.mark.django_db(transaction=True)
def test_a_write_replaces_a_broken_connection():
    user_group = UserGroupFactory()
    begin_request_on_broken_connection()

    _, is_created = Bookmark.objects.add(
        user_group=user_group, url="https://example.com/"
    )
    assert is_created


@on_postgresql
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(("threshold", "prepared"), [(None, 0), (0, 1)])
def test_statements_are_prepared_if_the_connection_has_a_threshold(
    threshold, prepared, monkeypatch
):
    user_group = UserGroupFactory()
    monkeypatch.setattr(connection.connection, "prepare_threshold", threshold)
    statement = select(UserGroup, "provided_id", "environment", "name")

    for _ in range(3):
        statement(
            provided_id=user_group.provided_id,
            environment=user_group.environment,
            name="Any",
        )

    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_prepared_statements WHERE statement LIKE %s",
            ["%usergroups_usergroup%"],
        )
        assert cursor.fetchone()[0] == prepared


@on_postgresql
@pytest.mark.django_db(transaction=True)
def test_prepared_statements_still_run_after_the_type_of_a_column_changes(monkeypatch):
    user_group = UserGroupFactory()
    token, secret = ApiToken.objects.issue(
        team=user_group.team, environment=user_group.environment
    )

    def call(name):
        ApiToken.objects.authenticate(secret)
        UserGroup.objects.change(user_group.provided_id, token.scope, name=name)

    def change_types(length):
        with connection.cursor() as cursor:
            for table in (
                "usergroups_usergroup",
                "usergroups_team",
                "usergroups_apitoken",
            ):
                cursor.execute(
                    f"ALTER TABLE {table} ALTER COLUMN name TYPE varchar({length})"
                )

    try:
        monkeypatch.setattr(connection.connection, "prepare_threshold", 0)
        call("Before")
        on_another_connection(lambda: change_types(300))

        call("After")
    finally:
        change_types(255)
    user_group.refresh_from_db()
    assert user_group.name == "After"
