"""Statements that the ORM compiles once and runs again: their rows, what
wraps a connection, broken connections, and prepared statements.
"""

from contextlib import closing
from uuid import uuid4

import pytest
from django.db import DatabaseError, OperationalError, connection, transaction
from django.test.utils import CaptureQueriesContext

from bookmarks.models import AccessToken, Bookmark, Collection
from bookmarks_service.postgresql_connections import repeat_outdated
from tests.bookmarks.factories import (
    AccessTokenFactory,
    BookmarkFactory,
    CollectionFactory,
)
from tests.queries import on_another_connection
from tests.usergroups.factories import ApiTokenFactory, UserGroupFactory
from usergroups.db.compiled_statements import (
    compile_select,
    compile_select_related,
    parameters,
)
from usergroups.models import ApiToken, UserGroup

pytestmark = pytest.mark.django_db

URL = "https://example.com/"


def values_of(row):
    return {
        field.attname: getattr(row, field.attname)
        for field in row._meta.concrete_fields
    }


def select(model, *names):
    """Return a compiled statement that selects rows by the values of these
    fields.
    """
    return compile_select(model.objects.filter(**parameters(model, *names)))


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

    [found] = select(type(row), "id").execute(id=row.pk)

    assert values_of(found) == values_of(type(row).objects.get(pk=row.pk))
    # as the ORM sets them: a save is an UPDATE on this database
    assert found._state.db == "default"
    assert not found._state.adding


@pytest.mark.parametrize(
    "call",
    ["authenticate", "update", "add again", "find a bookmark", "find a collection"],
)
def test_the_second_call_compiles_no_statement(
    call, user_group, collection, monkeypatch
):
    token, secret = ApiToken.objects.issue(
        team=user_group.team, environment=user_group.environment
    )
    bookmark = BookmarkFactory(user_group=user_group)
    calls = {
        "authenticate": lambda: ApiToken.objects.with_secret(secret),
        # each time another name, so that both calls write
        "update": lambda: UserGroup.objects.update_by_provided_id(
            user_group.provided_id, token.scope, name=f"Name {uuid4()}"
        ),
        "add again": lambda: Bookmark.objects.find_by_unique_key(
            user_group, bookmark.unique_key
        ),
        "find a bookmark": lambda: Bookmark.objects.find_by_id(
            user_group, str(bookmark.pk)
        ),
        "find a collection": lambda: Collection.objects.find_by_id(
            user_group, str(collection.pk)
        ),
    }
    calls[call]()  # compiles the statement, unless an earlier test has
    compiled = []
    monkeypatch.setattr(
        "django.db.models.sql.Query.get_compiler",
        lambda *args, **kwargs: compiled.append(args),
    )

    assert calls[call]()

    assert compiled == []


def test_a_compiled_statement_refers_to_no_connection():
    """A connection belongs to one thread, and a statement to all of them."""
    statements = [
        select(UserGroup, "id"),
        compile_select_related(AccessToken.objects.all(), "user_group", ()),
    ]

    assert [each for each in statements if refers_to_a_connection(each)] == []


def refers_to_a_connection(value, depth=5):
    """Return whether an object, or what it consists of, is a connection or
    belongs to one.
    """
    # a method of ``connection.ops``
    if value is connection or getattr(value, "__self__", None) is connection.ops:
        return True
    parts = list(getattr(value, "__dict__", {}).values())
    if isinstance(value, list | tuple):
        parts += value
    return depth > 0 and any(refers_to_a_connection(part, depth - 1) for part in parts)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("keyword", ["UPDATE", "INSERT"])
def test_a_write_is_one_statement_without_begin_and_commit(keyword):
    user_group = UserGroupFactory()
    calls = {
        "UPDATE": lambda: UserGroup.objects.update_by_provided_id(
            user_group.provided_id, user_group.scope, name="New"
        ),
        "INSERT": lambda: Bookmark.objects.add(user_group=user_group, url=URL),
    }

    with CaptureQueriesContext(connection) as captured:
        calls[keyword]()

    assert [query["sql"].split()[0] for query in captured] == [keyword]


@pytest.mark.django_db(transaction=True)
def test_a_failed_write_does_not_abort_an_outer_transaction(user_group):
    with transaction.atomic():
        with (
            pytest.raises(DatabaseError),
            connection.execute_wrapper(fail_before_insert),
        ):
            Bookmark.objects.add(user_group=user_group, url=URL)
        # In an aborted transaction, PostgreSQL would refuse this query.
        assert UserGroup.objects.filter(pk=user_group.pk).exists()


def fail_before_insert(execute, sql, params, many, context):
    """Execute an invalid statement right before an INSERT.

    This is a function for ``execute_wrapper``.
    """
    if sql.startswith("INSERT"):
        execute("SELECT 1 FROM missing_table", None, many, context)
    return execute(sql, params, many, context)


# What wraps a connection


@pytest.fixture
def calls(call_bookmarks, update_user_group, create_bookmark, user_group):
    """Return functions that make a call, by its method.

    The calls run compiled statements, except the INSERT of POST.
    """
    bookmark = BookmarkFactory(user_group=user_group)
    provided_id = user_group.provided_id
    return {
        "GET": lambda: call_bookmarks("GET", "bookmark", bookmark.pk),
        "PUT": lambda: update_user_group({"user_group_id": provided_id, "name": "New"}),
        "POST": lambda: create_bookmark({"url": f"{URL}new"}),
    }


TABLES = {
    "GET": ["bookmarks_accesstoken", "bookmarks_bookmark"],
    "PUT": ["usergroups_apitoken", "usergroups_usergroup"],
    "POST": ["bookmarks_accesstoken", "bookmarks_bookmark"],
}
"""The table of each statement of a call, by the method of the call."""


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("call", TABLES)
def test_wrappers_of_a_connection_see_each_statement(call, calls):
    seen = []

    def record(execute, sql, params, many, context):
        seen.append(sql)
        return execute(sql, params, many, context)

    with connection.execute_wrapper(record), CaptureQueriesContext(connection) as log:
        assert calls[call]().status_code in (200, 201)

    assert len(seen) == len(log) == len(TABLES[call])
    for table, sql, query in zip(TABLES[call], seen, log, strict=True):
        assert table in sql
        assert table in query["sql"]


on_postgresql = pytest.mark.skipif(
    connection.vendor != "postgresql", reason="SQLite has no server"
)


@pytest.fixture
def client_side_binding(monkeypatch):
    """Let the connection put the values into the text of its statements, as
    Django does by default, and not as the service does.
    """
    from django.db.backends.postgresql.base import Cursor  # noqa: PLC0415

    connection.ensure_connection()
    monkeypatch.setattr(connection.connection, "cursor_factory", Cursor)


@on_postgresql
@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("client_side_binding")
@pytest.mark.parametrize("call", TABLES)
def test_a_wrapper_may_prepend_a_statement(call, calls):
    """django-pghistory prepends one to each write."""
    actors = []

    def prepend(execute, sql, params, many, context):
        sql = f"SELECT set_config('example.actor', %s, true); {sql}"
        cursor = execute(sql, ["me", *(params or ())], many, context)
        while cursor.nextset():
            actors.append("me")
        return cursor

    with connection.execute_wrapper(prepend):
        assert calls[call]().status_code in (200, 201)

    assert len(actors) == len(TABLES[call])


# Connections to PostgreSQL


def begin_request_on_broken_connection():
    """End the process of PostgreSQL that serves the connection, and wait for
    its end for at most 60,000 ms.
    """
    connection.health_check_enabled = True
    connection.health_check_done = False  # as at the beginning of a request
    with closing(connection.copy()) as other, other.cursor() as cursor:
        cursor.execute(
            "SELECT pg_terminate_backend(%s, 60000)",
            [connection.connection.info.backend_pid],
        )


@on_postgresql
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("call", ["GET", "PUT"])
def test_a_read_and_a_write_replace_a_broken_connection(call, calls):
    begin_request_on_broken_connection()

    assert calls[call]().status_code == 200


@on_postgresql
@pytest.mark.django_db(transaction=True)
def test_connecting_to_an_unreachable_server_is_not_repeated(monkeypatch):
    token = ApiTokenFactory()
    attempts = []

    def refuse(parameters):
        attempts.append(parameters)
        raise OperationalError("timeout expired")

    connection.close()
    monkeypatch.setattr(connection, "get_new_connection", refuse)

    with pytest.raises(OperationalError):
        ApiToken.objects.with_secret(token.secret)

    assert len(attempts) == 1


@pytest.fixture
def change_column_types():
    """Return a function that changes the type of some columns on another
    connection, as a migration does.
    """

    def set_length(length):
        for table in ("usergroups_usergroup", "usergroups_team", "usergroups_apitoken"):
            with connection.cursor() as cursor:
                cursor.execute(
                    f"ALTER TABLE {table} ALTER COLUMN name TYPE varchar({length})"
                )

    yield lambda: on_another_connection(lambda: set_length(300))
    set_length(255)  # as before


@on_postgresql
@pytest.mark.django_db(transaction=True)
def test_prepared_statements_still_run_after_the_type_of_a_column_changes(
    monkeypatch, change_column_types
):
    user_group = UserGroupFactory()
    token, secret = ApiToken.objects.issue(
        team=user_group.team, environment=user_group.environment
    )

    def call(name):
        ApiToken.objects.with_secret(secret)
        UserGroup.objects.update_by_provided_id(
            user_group.provided_id, token.scope, name=name
        )

    # so that each statement is prepared when it first runs
    monkeypatch.setattr(connection.connection, "prepare_threshold", 0)
    with connection.execute_wrapper(repeat_outdated):
        call("Before")
        change_column_types()

        call("After")

    user_group.refresh_from_db()
    assert user_group.name == "After"


@on_postgresql
@pytest.mark.django_db(transaction=True)
def test_a_transaction_is_repeated_after_the_type_of_a_column_changes(
    monkeypatch, change_column_types
):
    group = UserGroupFactory()

    def rotated_token():
        return UserGroup.objects.rotate_token(group.provided_id, group.scope).token

    # so that each statement is prepared when it first runs
    monkeypatch.setattr(connection.connection, "prepare_threshold", 0)
    before = rotated_token()
    change_column_types()

    assert rotated_token() != before
