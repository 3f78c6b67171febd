"""The log, with one line of JSON for each request and each record."""

import json
import logging
import re
import sys
from errno import ENOSPC
from types import SimpleNamespace

import pytest
from django.db import OperationalError, connection
from django.http import HttpResponse
from django.test import Client
from django.utils.log import log_response

from bookmarks_service.json_log import JsonFormatter
from usergroups.tokens import secret_format

pytestmark = pytest.mark.database_independent


@pytest.fixture
def logged(capsys, monkeypatch):
    """Return a function that returns the lines that were logged since its last
    call.
    """
    [handler] = [
        each
        for each in logging.getLogger().handlers
        if isinstance(each.formatter, JsonFormatter)
    ]
    # The handler has kept the stderr of its creation. capsys replaces
    # ``sys.stderr``.
    stream = SimpleNamespace(
        write=lambda text: print(text, end="", file=sys.stderr), flush=lambda: None
    )
    monkeypatch.setattr(handler, "stream", stream)
    return lambda: [json.loads(line) for line in capsys.readouterr().err.splitlines()]


def test_each_request_is_logged_in_one_line(update_user_group, user_group, logged):
    body = {"user_group_id": user_group.provided_id, "name": "Secret name"}
    headers = {"HTTP_USER_AGENT": "secret", "HTTP_REFERER": "https://secret.example/"}
    update_user_group(body, **headers)

    [line] = logged()
    assert (line["message"], line["status"]) == ("request", 200)
    assert (line["method"], line["path"]) == ("PUT", "/api/user")
    assert line["token"] == update_user_group.token.hint
    assert line["ms"] > 0
    assert line["asctime"].endswith("+00:00")
    assert "secret" not in json.dumps(line).lower()


@pytest.mark.parametrize(
    ("path", "status"), [("/unknown", 404), ("/admin/login/", 200), ("/", 200)]
)
def test_requests_without_a_token_are_logged(api_client, db, logged, path, status):
    api_client.get(f"{path}?private=1")

    [line] = logged()
    assert (line["path"], line["status"], line["token"]) == (path, status, None)
    assert "private" not in json.dumps(line)


def test_a_full_disk_does_not_fail_a_request(api_client, monkeypatch):
    def write(line):
        raise OSError(ENOSPC, "No space left on device")

    monkeypatch.setattr(sys, "stderr", SimpleNamespace(write=write))

    assert api_client.get("/livez").status_code == 200


SECRET = secret_format.generate("bma")
"""A token that was not issued."""


def answered_id(client, sent):
    return client.get("/unknown", headers={"X-Request-ID": sent})["X-Request-ID"]


@pytest.mark.parametrize("sent", ["a", "A.b_c-~+/=:@1", "a" * 128])
def test_a_valid_request_id_is_kept(api_client, sent):
    assert answered_id(api_client, sent) == sent


@pytest.mark.parametrize(
    "sent", ["", "a b", "a" * 129, "a\nb", "ü", pytest.param(SECRET, id="token")]
)
def test_a_missing_or_invalid_request_id_is_replaced(api_client, sent):
    assert re.fullmatch("[0-9a-f]{32}", answered_id(api_client, sent))


def fail(*args):
    raise OperationalError("The database is away.\nDETAIL: private")


@pytest.mark.usefixtures("db")
def test_a_token_in_a_path_is_removed_from_all_lines(api_client, logged):
    with connection.execute_wrapper(fail):
        headers = {"Authorization": f"Bearer {SECRET}", "X-Request-ID": "the-id"}
        response = api_client.get(f"/v1/bookmarks/{SECRET}", headers=headers)
    lines = logged()

    assert response.status_code == 503
    [error] = [line for line in lines if line["name"] == "django.request"]
    assert error["message"] == "Service Unavailable: /v1/bookmarks/bma_(a token)"
    assert "exc_info" not in error
    assert lines[-1]["path"] == "/v1/bookmarks/bma_(a token)"
    assert {line["request_id"] for line in lines} == {"the-id"}
    assert SECRET not in json.dumps(lines)


@pytest.mark.usefixtures("db")
@pytest.mark.parametrize("path", ["/v1/bookmarks", "/admin/login/"])
def test_an_unavailable_database_is_logged_in_one_short_line(api_client, logged, path):
    headers = {"Authorization": f"Bearer {SECRET}", "Cookie": "sessionid=" + "a" * 32}
    with connection.execute_wrapper(fail):
        response = api_client.get(path, headers=headers)

    error, request = logged()
    assert response.status_code == 503
    assert error["error"] == "OperationalError: The database is away."
    assert len(json.dumps(error)) < 400
    assert request["status"] == 503


@pytest.mark.usefixtures("db")
def test_a_bug_is_logged_with_its_traceback(api_client, logged):
    def fail_by_a_bug(*args):
        raise ValueError("a bug")

    headers = {"Authorization": f"Bearer {SECRET}"}
    with connection.execute_wrapper(fail_by_a_bug):
        response = api_client.get("/v1/bookmarks", headers=headers)

    error, _ = logged()
    assert response.status_code == 500
    assert "Traceback" in error["exc_info"]


def test_the_referer_of_a_failed_csrf_check_is_logged_without_its_query(
    logged, settings
):
    settings.SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    referer = "https://evil.example/page?q=private#private"
    headers = {"X-Forwarded-Proto": "https", "Referer": referer}

    client = Client(enforce_csrf_checks=True, headers=headers)
    assert client.post("/admin/login/").status_code == 403

    warning, _ = logged()
    assert "https://evil.example/page does not match" in warning["message"]
    assert "private" not in json.dumps(warning)


def log_a_traceback():
    try:
        raise ValueError(SECRET)
    except ValueError:
        logging.getLogger("library").exception("failed")


def log_in_extra():
    extra = {"sent": SECRET, "nested": {"sent": [SECRET]}, "secret": SECRET.encode()}
    logging.getLogger("library").info("extra", extra=extra)


@pytest.mark.parametrize("log", [log_a_traceback, log_in_extra])
def test_a_record_is_one_line_of_json_without_tokens(logged, log):
    log()

    [line] = logged()
    assert line["name"] == "library"
    assert SECRET not in json.dumps(line)
    assert line["request_id"] is None


def test_the_query_string_of_a_record_of_django_is_not_logged(rf, logged):
    request = rf.get("/v1/bookmarks?q=private")
    response = HttpResponse(status=500)
    log_response("%s: %s", "Failed", request.path, response=response, request=request)

    [line] = logged()
    assert line["message"] == "Failed: /v1/bookmarks"
    assert "private" not in json.dumps(line)
