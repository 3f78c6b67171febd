"""The health checks for load balancers."""

from threading import Event

import pytest
from django.core.management import call_command
from django.db import OperationalError, connection

from bookmarks_service import health
from tests.queries import queries_of


@pytest.fixture(autouse=True)
def forget_that_the_schema_is_complete():
    health.require_schema.cache_clear()


@pytest.mark.parametrize("path", ["/livez", "/readyz"])
def test_a_healthy_service_answers_with_200(client, db, path):
    response = client.get(path)

    assert (response.status_code, response.json()["success"]) == (200, 1)
    assert client.head(path).status_code == 200


def test_readyz_takes_one_statement(db):
    health.check_database()  # caches that the schema is complete

    # which checks that the database answers
    assert len(queries_of(health.check_database)) == 1


@pytest.mark.parametrize("path", ["/livez", "/readyz"])
def test_probes_work_without_a_host_name_and_https(client, db, settings, path):
    settings.SECURE_SSL_REDIRECT = True

    assert client.get(path, headers={"Host": "10.0.0.1:8000"}).status_code == 200


@pytest.mark.django_db(transaction=True)
def test_readyz_fails_until_all_migrations_are_applied(client, caplog):
    with connection.cursor() as cursor:
        last = "SELECT max(id) FROM django_migrations WHERE app = 'bookmarks'"
        cursor.execute(f"DELETE FROM django_migrations WHERE id = ({last})")

    response = client.get("/readyz")
    call_command("migrate", "bookmarks", fake=True, verbosity=0)

    assert (response.status_code, response.json()["errors"][0]["code"]) == (
        503,
        "service_unavailable",
    )
    assert response.json()["errors"][0]["detail"] == "Some migrations are not applied."
    assert "Not ready: Some migrations are not applied." in caplog.messages
    assert int(response["Retry-After"]) > 0
    assert client.get("/readyz").status_code == 200


@pytest.mark.parametrize(
    ("change", "undo", "missing"),
    [
        (
            "ALTER TABLE bookmarks_bookmark RENAME note TO remark",
            "ALTER TABLE bookmarks_bookmark RENAME remark TO note",
            "bookmarks_bookmark.note",
        ),
        (
            "ALTER TABLE django_session RENAME TO sessions",
            "ALTER TABLE sessions RENAME TO django_session",
            "django_session.session_key, django_session.session_data, "
            "django_session.expire_date",
        ),
    ],
    ids=["column", "table"],
)
@pytest.mark.django_db(transaction=True)
def test_readyz_fails_if_a_column_is_missing(client, caplog, change, undo, missing):
    with connection.cursor() as cursor:
        cursor.execute(change)
        try:
            response = client.get("/readyz")
        finally:
            cursor.execute(undo)

    assert response.status_code == 503
    assert f"Not ready: The database lacks the columns {missing}." in caplog.messages
    assert client.get("/readyz").status_code == 200


def test_readyz_checks_the_columns_again_after_the_database_was_unavailable(db):
    health.check_database()
    with connection.execute_wrapper(unavailable), pytest.raises(OperationalError):
        health.check_database()

    # one for migrations, one for columns, and one for writes that wait
    assert len(queries_of(health.check_database)) > 1


def unavailable(*args):
    raise OperationalError("connection refused\nDETAIL: a secret")


def test_the_log_says_why_readyz_fails(client, db, caplog, monkeypatch):
    monkeypatch.setattr(health, "require_replication", unavailable)

    assert client.get("/readyz").status_code == 503

    assert caplog.messages[0] == "Not ready: OperationalError: connection refused"


@pytest.mark.skipif(
    connection.vendor != "postgresql", reason="SQLite has no server that may hang"
)
@pytest.mark.django_db(transaction=True)
def test_readyz_fails_as_long_as_the_database_hangs(client, caplog, monkeypatch):
    responds = Event()
    with monkeypatch.context() as patch:
        patch.setattr(health, "require_replication", responds.wait)
        patch.setattr(health, "MAX_CHECK", 0)
        statuses = [client.get("/readyz").status_code for _ in range(2)]
    responds.set()

    assert statuses == [503, 503]
    assert caplog.messages[0] == "Not ready: The database does not respond."
    assert client.get("/readyz").status_code == 200
