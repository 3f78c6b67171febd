"""Writing the last use of a token does not wait for locks, and its failure does not fail the request."""

import pytest
from django.db import OperationalError, connection, transaction
from django.test import RequestFactory

from tests.queries import queries_of, row_locked
from tests.usergroups.factories import ApiTokenFactory
from usergroups.models import ApiToken
from usergroups.tokens import last_use


def last_used_at(token):
    return ApiToken.objects.values_list("last_used_at", flat=True).get(pk=token.pk)


def refuse(execute, sql, params, many, context):
    if sql.startswith("UPDATE"):
        raise OperationalError("The disk is full.")
    return execute(sql, params, many, context)


@pytest.mark.django_db
def test_a_failed_write_is_logged_once_and_not_retried_for_a_minute(caplog):
    token = ApiTokenFactory()

    with connection.execute_wrapper(refuse):
        token.mark_used()
        assert queries_of(token.mark_used) == []

    assert caplog.text.count("Could not write the last use of the token") == 1
    assert last_used_at(token) is None
    last_use.attempts.clear()  # as after a minute
    token.mark_used()
    assert last_used_at(token) is not None


@pytest.mark.django_db
def test_a_failed_write_leaves_an_outer_transaction_usable():
    token = ApiTokenFactory()

    def fail_in_the_database(execute, sql, params, many, context):
        return execute(sql.replace("UPDATE", "UPDATE no_such_table", 1), params, many, context)

    with transaction.atomic():
        with connection.execute_wrapper(fail_in_the_database):
            token.mark_used()
        ApiTokenFactory(name="later")

    assert ApiToken.objects.filter(name="later").exists()


@pytest.mark.skipif(connection.vendor != "sqlite", reason="PostgreSQL has no busy timeout")
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("fails", [False, True])
def test_on_sqlite_the_write_has_no_busy_timeout(fails):
    token, seen = ApiTokenFactory(), {}

    def busy_timeout():
        return connection.connection.execute("PRAGMA busy_timeout").fetchone()[0]

    def observe(execute, sql, params, many, context):
        seen[sql.split()[0]] = busy_timeout()
        if fails:
            return refuse(execute, sql, params, many, context)
        return execute(sql, params, many, context)

    before = busy_timeout()
    with connection.execute_wrapper(observe):
        token.mark_used()

    assert before > 0
    assert (seen["BEGIN"], seen["UPDATE"]) == (0, 0)
    assert busy_timeout() == before


@pytest.mark.skipif(connection.vendor != "postgresql", reason="only PostgreSQL has row locks")
@pytest.mark.django_db(transaction=True)
def test_on_postgresql_the_write_does_not_wait_for_a_row_lock(caplog):
    token = ApiTokenFactory()
    with row_locked(token), transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL lock_timeout = '3s'")  # so that a write that waits fails
        assert len(queries_of(token.mark_used)) == 1
        assert queries_of(token.mark_used) == []

    assert "Could not write" not in caplog.text
    assert last_used_at(token) is None


def test_the_address_and_the_user_agent_are_written_in_the_same_statement(update_user_group, api_token):
    ApiToken.objects.update(last_used_at=None)
    queries = queries_of(lambda: update_user_group({"user_group_id": "a"}, HTTP_USER_AGENT="curl/8"))

    [last_use_query] = [query for query in queries if query.startswith("UPDATE") and "last_used_at" in query]
    api_token.refresh_from_db()
    assert (api_token.last_used_address, api_token.last_used_agent) == ("127.0.0.1", "curl/8")
    assert "last_used_address" in last_use_query
    assert "last_used_agent" in last_use_query


SECRET = "uga_" + "x" * 38


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("sent", "stored"),
    [
        ("", ""),
        ("a\0b\r\nc\x1b[31m", "a b c [31m"),
        ("Grüße".encode().decode("latin-1"), "Grüße"),
        ("\xff\xfe", "��"),
        ("\u202eabc\ud800", "?abc?"),
        (f"agent/{SECRET}", "agent/uga_…"),
        ("x" * 240 + SECRET, "x" * 240 + "uga_…"),
        ("y" * 100_000, "y" * 255),
    ],
    ids=["empty", "control", "UTF-8", "no UTF-8", "direction", "secret", "secret at the end", "long"],
)
def test_a_hostile_user_agent_is_stored_as_harmless_text(sent, stored):
    token = ApiTokenFactory()
    request = RequestFactory().get("/", HTTP_USER_AGENT=sent)

    token.mark_used(request)

    assert ApiToken.objects.get().last_used_agent == stored
