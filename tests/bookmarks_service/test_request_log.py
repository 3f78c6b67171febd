"""The log, with one line of JSON for each request and each record."""

import json
import logging
import re
import sys
from errno import ENOSPC
from types import SimpleNamespace

import httpx
import pytest
from django.db import OperationalError, connection
from django.http import HttpResponse
from django.utils.log import log_response

from bookmarks_service.request_log import JsonFormatter
from tests.usergroups.factories import ApiTokenFactory
from usergroups.tokens import secret_format


@pytest.fixture
def logged(capsys, monkeypatch):
    """Return a function that returns the lines that were logged since its last call."""
    [handler] = [each for each in logging.getLogger().handlers if isinstance(each.formatter, JsonFormatter)]
    stream = SimpleNamespace(write=lambda text: print(text, end="", file=sys.stderr), flush=lambda: None)
    monkeypatch.setattr(handler, "stream", stream)
    return lambda: [json.loads(line) for line in capsys.readouterr().err.splitlines()]


def test_each_request_is_logged_in_one_line(update_user_group, user_group, logged):
    update_user_group({"user_group_id": user_group.provided_id, "name": "Secret name"}, QUERY_STRING="secret=1")

    [line] = logged()
    assert (line["message"], line["method"], line["path"], line["status"]) == ("request", "PUT", "/api/user", 200)
    assert line["queries"] == 4  # the token, a savepoint, the update, the savepoint's release
    assert line["token"] == update_user_group.token.hint
    assert 0 < line["ms"] < 60_000
    assert "secret" not in json.dumps(line).lower()


@pytest.mark.parametrize(("path", "status"), [("/unknown", 404), ("/admin/login/", 200), ("/", 200)])
def test_requests_without_a_token_are_logged(client, db, logged, path, status):
    client.get(path)

    [line] = logged()
    assert (line["path"], line["status"], line["token"]) == (path, status, None)


def test_a_refused_token_is_not_logged(client, db, logged):
    token = ApiTokenFactory(revoked=True)

    client.put("/api/user", headers={"Authorization": f"Token {token.secret}"})

    [line] = logged()
    assert (line["status"], line["token"]) == (401, None)
    assert token.secret not in json.dumps(line)


def test_a_full_disk_does_not_fail_a_request(client, monkeypatch):
    def write(line):
        raise OSError(ENOSPC, "No space left on device")

    monkeypatch.setattr(sys, "stderr", SimpleNamespace(write=write))

    assert client.get("/livez").status_code == 200


@pytest.mark.parametrize("sent", ["a", "0b9d2c3e-4f5a-4b6c-8d7e-9f0a1b2c3d4e", "A.b_c-~+/=:@1", "a" * 128])
def test_a_valid_request_id_is_kept(client, sent):
    assert client.get("/unknown", headers={"X-Request-ID": sent})["X-Request-ID"] == sent


INVALID_IDS = ["", "a b", "a" * 129, "a\nb", "ü", '{"a"}']


@pytest.mark.parametrize("headers", [{}, *({"X-Request-ID": sent} for sent in INVALID_IDS)])
def test_a_missing_or_invalid_request_id_is_replaced(client, headers):
    response = client.get("/unknown", headers=headers)

    assert re.fullmatch("[0-9a-f]{32}", response["X-Request-ID"])


def test_the_service_logs_json_with_the_request_id(service):
    httpx.get(f"{service.base_url}/v1/bookmarks?url=secret", headers={"X-Request-ID": "the-id"})

    lines = [json.loads(line) for line in service.log.read_text().splitlines() if line.startswith("{")]
    [line] = [line for line in lines if line["request_id"] == "the-id"]
    assert (line["message"], line["levelname"], line["status"], line["path"]) == (
        "request", "INFO", 401, "/v1/bookmarks",
    )  # fmt: skip
    assert "secret" not in json.dumps(line)


SECRET = secret_format.generate("bma")
"""A token that was not issued."""


@pytest.mark.usefixtures("db")
def test_a_token_in_a_path_is_removed_from_all_lines(client, logged):
    def fail(*args):
        raise OperationalError("The database is away.")

    with connection.execute_wrapper(fail):
        headers = {"Authorization": f"Bearer {SECRET}", "X-Request-ID": "the-id"}
        response = client.get(f"/v1/bookmarks/{SECRET}", headers=headers)
    lines = logged()

    assert response.status_code == 503
    [error] = [line for line in lines if line["name"] == "django.request"]
    assert error["message"] == "Service Unavailable: /v1/bookmarks/bma_(a token)"
    assert "OperationalError: The database is away." in error["exc_info"]
    assert lines[-1]["path"] == "/v1/bookmarks/bma_(a token)"
    assert {line["request_id"] for line in lines} == {"the-id"}
    assert SECRET not in json.dumps(lines)


def log_in_message():
    logging.getLogger("library").error(f"sent {SECRET}")


def log_in_arguments():
    logging.getLogger("library").warning("sent %s", [SECRET])


def log_in_exception():
    try:
        raise ValueError(SECRET)
    except ValueError:
        logging.getLogger("library").exception("failed")


def log_in_stack():
    logging.getLogger("library").info("here", stack_info=True)


def log_in_extra():
    extra = {"sent": SECRET, "nested": {"sent": [SECRET]}, "secret": SECRET.encode(), "number": 1.5}
    logging.getLogger("library").info("extra", extra=extra)


WAYS = [log_in_message, log_in_arguments, log_in_exception, log_in_stack, log_in_extra]


@pytest.mark.parametrize("log", WAYS)
def test_a_record_is_one_line_of_json_without_tokens(logged, log):
    log()

    [line] = logged()
    assert line["name"] == "library"
    assert SECRET not in json.dumps(line)
    assert line["request_id"] is None


@pytest.mark.parametrize("char", ["\n", "\t", "\\", "\\n", '"', "\x00", "ä", "\udc80", "\uabcd", "😀", "a", "_"])
def test_a_line_is_valid_whatever_precedes_a_token(char):
    line = JsonFormatter().format(logging.makeLogRecord({"msg": f"{char}{SECRET} {char}ab{SECRET[3:]}"}))

    message = json.loads(line)["message"]
    assert message.startswith(f"{char}bma_(a token) {char}ab_")
    assert SECRET not in message


def test_a_traceback_and_values_of_a_record_are_logged(logged):
    log_in_exception()
    log_in_stack()
    log_in_extra()

    failed, here, extra = logged()
    assert failed["exc_info"].startswith("Traceback (most recent call last):\n")
    assert failed["exc_info"].endswith("\nValueError: bma_(a token)")
    assert here["stack_info"].startswith("Stack (most recent call last):\n")
    assert (extra["sent"], extra["number"]) == ("bma_(a token)", "1.5")


def test_the_query_string_of_a_record_of_django_is_not_logged(rf, logged):
    request = rf.get("/v1/bookmarks?q=private")
    log_response("%s: %s", "Failed", request.path, response=HttpResponse(status=500), request=request)

    [line] = logged()
    assert line["message"] == "Failed: /v1/bookmarks"
    assert "private" not in json.dumps(line)


def test_times_are_in_utc_with_their_offset(client, logged):
    client.get("/livez")

    [line] = logged()
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+00:00", line["asctime"])
