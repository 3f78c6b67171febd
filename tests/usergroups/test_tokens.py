"""The format of secrets, the model of tokens and their last use."""

import gc
import re
import sqlite3
from contextlib import closing
from datetime import timedelta

import pytest
from django.db import OperationalError, connection, connections, transaction
from django.db.backends.sqlite3.base import SQLiteCursorWrapper
from django.test import RequestFactory
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from tests.queries import queries_of, row_locked
from tests.usergroups.factories import ApiTokenFactory, TeamFactory
from usergroups.db.waiting import atomic_without_waiting
from usergroups.models import ApiToken
from usergroups.tokens import secret_format
from usergroups.tokens.call_records import attempts


def test_a_token_has_a_prefix_190_random_bits_and_a_checksum():
    tokens = {secret_format.generate("abc") for _ in range(1000)}

    assert len(tokens) == 1000
    assert all(re.fullmatch("abc_[0-9A-Za-z]{38}", token) for token in tokens)
    assert all(secret_format.is_well_formed(token, "abc") for token in tokens)
    assert 62**secret_format.RANDOM_LENGTH > 2**190


def test_the_checksum_is_the_crc_32_in_base62():
    # The CRC-32 of "abc_" and the zeros is 117736564 = 7 * 62**4 + 60 * 62**3
    # + 0 * 62**2 + 40 * 62 + 52, which has the digits 0 7 y 0 e q.
    assert secret_format.is_well_formed("abc_" + "0" * 32 + "07y0eq", "abc")


TOKEN = secret_format.generate("abc")


@given(data=st.data())
def test_the_checksum_detects_a_mistyped_character(data):
    position = data.draw(st.integers(0, len(TOKEN) - 1))
    character = data.draw(
        st.sampled_from(secret_format.ALPHABET + "_ é").filter(
            lambda c: c != TOKEN[position]
        )
    )

    mistyped = TOKEN[:position] + character + TOKEN[position + 1 :]

    assert not secret_format.is_well_formed(mistyped, "abc")


def test_a_token_of_another_length_is_malformed():
    for text in (TOKEN[:-1], f"{TOKEN}0", f"{TOKEN}\n", "", "_"):
        assert not secret_format.is_well_formed(text, "abc"), text


@pytest.mark.django_db
def test_only_a_digest_is_stored_and_nothing_shows_the_secret():
    token, secret = ApiToken.objects.issue(team=TeamFactory(), name="CI")

    stored = ApiToken.objects.filter(pk=token.pk).values().get()
    assert len(bytes(stored["digest"])) == 32
    assert secret.startswith(stored["hint"])
    # The hint has the prefix and 4 of 38 characters.
    assert len(secret) - len(stored["hint"]) == 34
    assert secret not in str(stored)
    assert secret not in f"{token} {token!r} {vars(token)}"


# The last use: writing it neither waits for row locks nor fails the request.

REQUEST = RequestFactory().get("/")


@pytest.mark.django_db
def test_the_last_use_is_written_at_most_once_a_minute():
    token = ApiTokenFactory()
    other = ApiTokenFactory()

    assert len(queries_of(token.mark_used, REQUEST)) == 1
    token.refresh_from_db()
    assert queries_of(token.mark_used, REQUEST) == []

    token.last_used_at -= timedelta(minutes=1)
    token.save()
    assert len(queries_of(token.mark_used, REQUEST)) == 1
    assert last_used_at(other) is None


@pytest.mark.django_db
def test_the_minutes_with_refused_calls_are_counted():
    token = ApiTokenFactory(expired=True)

    assert len(queries_of(token.mark_refused)) == 1
    token.refresh_from_db()
    first = token.last_refused_at
    assert queries_of(token.mark_refused) == []
    token.last_refused_at -= timedelta(minutes=1)
    token.save()
    assert len(queries_of(token.mark_refused)) == 1

    token.refresh_from_db()
    assert (token.refused_minutes, token.first_refused_at) == (2, first)
    assert token.last_refused_at > first


@pytest.mark.django_db
def test_two_processes_count_a_minute_once():
    token = ApiTokenFactory(expired=True)
    same = ApiToken.objects.get()

    token.mark_refused()
    attempts.clear()  # of another process
    same.mark_refused()

    assert ApiToken.objects.get().refused_minutes == 1


@pytest.mark.django_db
def test_a_successor_inherits_no_use_and_no_refusals():
    used = {
        "last_used_at": timezone.now(),
        "last_used_address": "192.0.2.1",
        "last_used_agent": "curl",
        "refused_minutes": 2,
        "first_refused_at": timezone.now(),
        "last_refused_at": timezone.now(),
    }
    token = ApiTokenFactory(**used)

    successor, _ = token.rotate(timedelta(hours=1))

    assert [name for name in used if getattr(successor, name)] == []


def last_used_at(token):
    return ApiToken.objects.values_list("last_used_at", flat=True).get(pk=token.pk)


def refuse_updates(execute, sql, params, many, context):
    if sql.startswith("UPDATE"):
        raise OperationalError("The disk is full.")
    return execute(sql, params, many, context)


@pytest.mark.django_db
def test_a_failed_write_is_logged_once_and_not_retried_for_a_minute(caplog):
    token = ApiTokenFactory()

    with connection.execute_wrapper(refuse_updates):
        token.mark_used(REQUEST)
        assert queries_of(token.mark_used, REQUEST) == []

    [record] = [each for each in caplog.records if "Could not" in each.message]
    assert record.message.startswith("Could not write last_used_at of the token uga_")
    assert (record.levelname, record.exc_info) == ("INFO", None)
    assert last_used_at(token) is None
    attempts.clear()  # as after a minute
    token.mark_used(REQUEST)
    assert last_used_at(token) is not None


def number_of_cursors():
    return sum(type(each) is SQLiteCursorWrapper for each in gc.get_objects())


@pytest.mark.database_independent
def test_an_error_keeps_no_cursor_for_the_garbage_collector(
    tmp_path, monkeypatch, django_db_blocker
):
    file = str(tmp_path / "db.sqlite3")
    options = {"transaction_mode": "IMMEDIATE"}
    backend = "django.db.backends.sqlite3"
    database = {"ENGINE": backend, "NAME": file, "OPTIONS": options}
    databases = connections.configure_settings({"default": {}, "file": database})
    monkeypatch.setitem(connections.settings, "file", databases["file"])
    with (
        django_db_blocker.unblock(),
        closing(connections["file"]),
        closing(sqlite3.connect(file)) as writer,
    ):
        writer.execute("BEGIN IMMEDIATE")
        gc.collect()
        gc.disable()
        try:
            # of other tests in this process
            number_before = number_of_cursors()
            with pytest.raises(OperationalError), atomic_without_waiting("file"):
                pass
            number_after = number_of_cursors()
        finally:
            gc.enable()
    del connections["file"]

    assert number_after == number_before


@pytest.mark.django_db
def test_a_failed_write_leaves_an_outer_transaction_usable():
    token = ApiTokenFactory()

    def fail_in_the_database(execute, sql, params, many, context):
        invalid = sql.replace("UPDATE", "UPDATE no_such_table", 1)
        return execute(invalid, params, many, context)

    with transaction.atomic():
        with connection.execute_wrapper(fail_in_the_database):
            token.mark_used(REQUEST)
        ApiTokenFactory(name="later")

    assert ApiToken.objects.filter(name="later").exists()


@pytest.mark.skipif(
    connection.vendor != "postgresql", reason="only PostgreSQL has row locks"
)
@pytest.mark.django_db(transaction=True)
def test_on_postgresql_a_locked_row_is_skipped_and_not_retried_for_a_minute(caplog):
    token = ApiTokenFactory()
    with row_locked(token), transaction.atomic():
        with connection.cursor() as cursor:
            # so that a write that waits fails
            cursor.execute("SET LOCAL lock_timeout = '3s'")
        assert len(queries_of(token.mark_used, REQUEST)) == 1
        assert queries_of(token.mark_used, REQUEST) == []

    assert "Could not write" not in caplog.text
    assert last_used_at(token) is None


def test_the_address_and_the_user_agent_are_written_with_the_time_of_the_last_use(
    update_user_group, api_token
):
    # Otherwise, the token was used within the last minute.
    ApiToken.objects.update(last_used_at=None)

    queries = queries_of(
        lambda: update_user_group({"user_group_id": "a"}, HTTP_USER_AGENT="curl/8")
    )

    updates = [query for query in queries if query.startswith("UPDATE")]
    assert len([query for query in updates if "last_used_at" in query]) == 1
    api_token.refresh_from_db()
    assert api_token.last_used_address == "127.0.0.1"
    assert api_token.last_used_agent == "curl/8"


SECRET = "uga_" + "x" * 38


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("sent", "stored"),
    [
        pytest.param("", "", id="empty"),
        pytest.param("a\0b\r\nc\x1b[31m", "a b c [31m", id="control characters"),
        pytest.param("Grüße".encode().decode("latin-1"), "Grüße", id="UTF-8"),
        pytest.param("\xff\xfe", "��", id="not UTF-8"),
        pytest.param("\u202eabc\ud800", "?abc?", id="not Latin-1"),
        pytest.param(f"agent/{SECRET}", "agent/uga_…", id="secret"),
        pytest.param(
            "x" * 240 + SECRET,
            "x" * 240 + "uga_…",
            id="secret across the 255th character",
        ),
        pytest.param("y" * 100_000, "y" * 255, id="long"),
    ],
)
def test_a_hostile_user_agent_is_stored_as_harmless_text(sent, stored):
    token = ApiTokenFactory()
    request = RequestFactory().get("/", HTTP_USER_AGENT=sent)

    token.mark_used(request)

    assert ApiToken.objects.get().last_used_agent == stored
