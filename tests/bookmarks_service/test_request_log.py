"""The log of requests, with one line of JSON for each."""

import json
import logging
import re

import httpx
import pytest

from tests.usergroups.factories import ApiTokenFactory


def request_records(caplog):
    return [record for record in caplog.records if record.name == "bookmarks_service.request_log"]


@pytest.fixture(autouse=True)
def log_requests(caplog):
    caplog.set_level(logging.INFO)


def test_each_request_is_logged_in_one_record(update_user_group, user_group, caplog):
    update_user_group({"user_group_id": user_group.provided_id, "name": "Secret name"}, QUERY_STRING="secret=1")

    [record] = request_records(caplog)
    assert (record.method, record.path, record.status) == ("PUT", "/api/user", 200)
    assert record.queries == 4  # the token, a savepoint, the update, the savepoint's release
    assert record.token == update_user_group.token.hint
    assert 0 < record.ms < 60_000
    assert "secret" not in caplog.text.lower()


@pytest.mark.parametrize(("path", "status"), [("/unknown", 404), ("/admin/login/", 200), ("/", 200)])
def test_requests_without_a_token_are_logged(client, db, caplog, path, status):
    client.get(path)

    [record] = request_records(caplog)
    assert (record.path, record.status, record.token) == (path, status, None)


def test_a_refused_token_is_not_logged(client, db, caplog):
    token = ApiTokenFactory(revoked=True)

    client.put("/api/user", headers={"Authorization": f"Token {token.secret}"})

    [record] = request_records(caplog)
    assert (record.status, record.token) == (401, None)
    assert token.secret not in caplog.text


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
