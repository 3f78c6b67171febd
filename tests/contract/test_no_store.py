"""No answer is stored by a cache, since it may carry a secret."""

import pytest
from django.db import OperationalError
from django.test import RequestFactory

from usergroups.contract.errors import unknown_path

pytestmark = pytest.mark.once

NO_STORE = "no-store"


def test_an_answer_is_not_stored(any_operation, valid_body):
    assert any_operation(valid_body)["Cache-Control"] == NO_STORE


@pytest.mark.parametrize(
    ("extra", "status"),
    [
        ({"HTTP_AUTHORIZATION": None}, 401),
        ({"method": "TRACE"}, 405),
        ({"method": "OPTIONS"}, 405),
    ],
)
def test_a_failure_of_any_operation_is_not_stored(any_operation, valid_body, extra, status):
    response = any_operation(valid_body, **extra)

    assert (response.status_code, response["Cache-Control"]) == (status, NO_STORE)


@pytest.mark.parametrize(
    ("body", "extra", "status"),
    [(b"{", {}, 400), (b" " * 9_000_000, {}, 413), (b"{}", {"CONTENT_TYPE": "text/plain"}, 415)],
)
def test_the_refusal_of_a_body_is_not_stored(operation, body, extra, status):
    response = operation(body, **extra)

    assert (response.status_code, response["Cache-Control"]) == (status, NO_STORE)


@pytest.mark.parametrize(("error", "status"), [(RuntimeError, 500), (OperationalError, 503)])
def test_a_server_error_is_not_stored(any_operation, valid_body, monkeypatch, error, status):
    def fail(*args):
        raise error

    monkeypatch.setattr("usergroups.tokens.models.TokenQuerySet.authenticate", fail)
    response = any_operation(valid_body)

    assert (response.status_code, response["Cache-Control"]) == (status, NO_STORE)


def test_an_unknown_path_is_not_stored():
    assert unknown_path(RequestFactory().get("/"))["Cache-Control"] == NO_STORE
