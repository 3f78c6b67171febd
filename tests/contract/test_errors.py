"""The answers to exceptions in views and outside of them."""

import json
import weakref
from io import BytesIO

import pytest
from django.core.exceptions import PermissionDenied, SuspiciousOperation
from django.db import InterfaceError, InternalError, OperationalError, connection
from django.http import Http404
from rest_framework.exceptions import ErrorDetail, ValidationError
from rest_framework.test import APIRequestFactory

from tests.queries import without_garbage_collection
from usergroups.contract.errors import failure
from usergroups.contract.requests import read_body
from usergroups.tokens.views import TokenView

pytestmark = pytest.mark.once


def answer_to(exception):
    class View(TokenView):
        def get(self, request):
            raise AssertionError

        def initial(self, request):
            raise exception

    return View.as_view()(APIRequestFactory().get("/")).render()


@pytest.mark.parametrize(
    ("exception", "status", "kind", "code"),
    [
        (Http404("the inside story"), 404, "client_error", "not_found"),
        (PermissionDenied("the inside story"), 403, "client_error", "permission_denied"),
        (SuspiciousOperation("the inside story"), 400, "client_error", "bad_request"),
        (OperationalError("the inside story"), 503, "server_error", "service_unavailable"),
        (InterfaceError("the inside story"), 503, "server_error", "service_unavailable"),
        (InternalError("the inside story"), 503, "server_error", "service_unavailable"),
        (ZeroDivisionError("the inside story"), 500, "server_error", "internal_error"),
    ],
)
def test_exceptions_are_answered_without_their_message(exception, status, kind, code):
    response = answer_to(exception)

    body = json.loads(response.content)
    assert (response.status_code, body["success"], body["type"]) == (status, 0, kind)
    assert [error["code"] for error in body["errors"]] == [code]
    assert b"inside story" not in response.content


def test_errors_have_dotted_paths():
    detail = ErrorDetail("Wrong.", "wrong")

    body = failure(ValidationError({"a": {"b": [detail]}, "c": [detail, detail], "non_field_errors": [detail]}))
    of_the_whole = failure(ValidationError([detail]))

    assert [error["attr"] for error in body["errors"]] == ["a.b", "c", "c", "non_field_errors"]
    assert [error["attr"] for error in of_the_whole["errors"]] == [None]


class Trickle(BytesIO):
    """Return one byte at a time, as a slow connection may."""

    def read(self, size=-1):
        return super().read(min(size, 1))


def test_a_body_that_arrives_in_pieces_is_read_completely():
    request = APIRequestFactory().generic("POST", "/", b"")
    request.META.update({"wsgi.input": Trickle(b"whole"), "wsgi.input_terminated": True})
    request.META.pop("CONTENT_LENGTH", None)

    assert read_body(request, 5) == b"whole"


def test_a_failed_query_leaves_no_cursor_to_the_garbage_collection(update_user_group):
    cursors = []

    def fail(execute, sql, params, many, context):
        cursors.append(weakref.ref(context["cursor"]))
        raise OperationalError("The database is locked.")

    with without_garbage_collection(), connection.execute_wrapper(fail):
        response = update_user_group({})

    assert response.status_code == 503
    assert [cursor() for cursor in cursors] == [None]
