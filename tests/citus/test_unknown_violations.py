"""Citus reports violations of constraints on a worker as internal errors, without the worker's SQLSTATE."""

import pytest
from django.db import IntegrityError, InternalError, connection

from tests.answers import error_code, errors
from tests.bookmarks.factories import CollectionFactory
from tests.queries import on_another_connection
from usergroups.compiled_statements import CompiledInsert
from usergroups.transactions import ATTEMPTS, retry_on_conflict

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(connection.vendor != "postgresql", reason="the database is not PostgreSQL"),
]

URL = "https://example.com/"


def execute(sql):
    with connection.cursor() as cursor:
        cursor.execute(sql)


def fail(sqlstate):
    execute(f"DO $$ BEGIN RAISE 'refused' USING ERRCODE = '{sqlstate}'; END $$")


@pytest.mark.parametrize(
    ("sqlstate", "error", "attempts"),
    [("XX000", IntegrityError, ATTEMPTS), ("23505", IntegrityError, ATTEMPTS), ("25006", InternalError, 1)],
    ids=["unknown", "unique violation", "read-only"],
)
def test_what_may_be_a_violation_is_retried_as_one(sqlstate, error, attempts):
    calls = []

    def act():
        calls.append(sqlstate)
        fail(sqlstate)

    with pytest.raises(error, match="refused"):
        retry_on_conflict(act, "default")

    assert len(calls) == attempts


def test_what_may_be_a_violation_is_resolved():
    assert retry_on_conflict(lambda: fail("XX000"), "default", lambda: "existing") == "existing"


@pytest.fixture
def refusing():
    """Return a function that lets the database refuse statements on bookmarks as Citus does."""

    def refuse(statement):
        execute(f"""
            CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                IF current_query() LIKE '{statement}%' THEN RAISE 'refused' USING ERRCODE = 'XX000'; END IF;
                RETURN NEW;
            END $$;
            CREATE TRIGGER refuse BEFORE INSERT ON bookmarks_bookmark FOR EACH ROW EXECUTE FUNCTION refuse()
        """)

    yield refuse
    execute("DROP FUNCTION IF EXISTS refuse CASCADE")


def test_a_collection_that_is_deleted_meanwhile_does_not_exist(create_bookmark, user_group, refusing, monkeypatch):
    collection = CollectionFactory(user_group=user_group)
    refusing("INSERT")
    insert = CompiledInsert.insert

    def delete_and_insert(statement, bookmark):
        on_another_connection(lambda: type(collection).objects.filter(pk=collection.pk).delete())
        return insert(statement, bookmark)

    monkeypatch.setattr(CompiledInsert, "insert", delete_and_insert)

    assert errors(create_bookmark({"url": URL, "collection": str(collection.pk)})) == [("collection", "does_not_exist")]


def test_other_internal_errors_are_answered_with_503(create_bookmark, refusing):
    refusing("INSERT")

    assert error_code(create_bookmark({"url": URL}), 503) == "service_unavailable"
