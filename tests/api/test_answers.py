"""The rules that the responses of all operations follow.

The fixtures ``operation`` and ``any_operation`` are functions that call one
operation with valid credentials. Their attribute ``operation`` describes it. A
test runs for each operation (``operation`` only for those with a body), or for
those that it names in ``parametrize``. The fixture ``valid_body`` is a body
that all operations accept.
"""

import json
import re

import pytest
from django.core.exceptions import PermissionDenied, SuspiciousOperation
from django.db import InterfaceError, InternalError, OperationalError
from django.db.models.signals import post_init
from django.http import Http404

from bookmarks.models import AccessToken
from tests.answers import detail, error_code, errors
from tests.operations import (
    ANSWERED_IN_JSON,
    BATCHES,
    ONE_OF_EACH_SCHEME,
    OPERATIONS,
    SINGLE_CALLS,
    WRITES,
)
from usergroups.models import ApiToken, Team, UserGroup


@pytest.mark.parametrize("any_operation", ANSWERED_IN_JSON, indirect=True)
def test_success_is_the_integer_one_and_notes_are_not_answered(
    any_operation, valid_body
):
    for model in (Team, UserGroup, ApiToken, AccessToken):
        model.objects.update(notes="Only for operators")

    response = any_operation(valid_body)

    assert b"notes" not in response.content
    assert b"Only for operators" not in response.content
    assert response["Content-Type"] == "application/json"
    assert response["Cache-Control"] == "no-store"
    assert response.content.startswith((b'{"success":1,', b'{"success":1}'))


# 400: not JSON, not an object


@pytest.mark.database_independent
@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"{", id="unfinished"),
        pytest.param(b"{'a': 1}", id="single quotes"),
        pytest.param(b'{"a": 1,}', id="trailing comma"),
        pytest.param(b'{"a": 1} x', id="trailing text"),
        pytest.param(b'{"a": "\x00"}', id="raw U+0000"),
        pytest.param(b'{"a": "\n"}', id="raw line feed"),
        pytest.param(b'\xef\xbb\xbf{"a": 1}', id="byte order mark"),
        pytest.param(b'{"a": "\xff"}', id="not UTF-8"),
        pytest.param(b'{"a": "\xed\xa0\x80"}', id="surrogate in UTF-8"),
        pytest.param('{"a": 1}'.encode("utf-16"), id="UTF-16"),
        pytest.param(b"[]", id="array"),
        pytest.param(b'"text"', id="string"),
        pytest.param(b"1", id="number"),
        pytest.param(b"null", id="null"),
        pytest.param(b"a=1&b=2", id="form"),
        pytest.param(b'{"a": NaN}', id="NaN"),
        pytest.param(b'{"a": Infinity}', id="Infinity"),
        pytest.param(b'{"a": -Infinity}', id="-Infinity"),
        pytest.param(b'{"a": ' + b"[" * 100_000, id="nested 100,000 deep"),
    ],
)
@pytest.mark.parametrize("operation", ONE_OF_EACH_SCHEME, indirect=True)
def test_a_body_that_is_not_a_json_object_is_refused(operation, body):
    assert errors(operation(body), 400) == [(None, "parse_error")]


def with_member(body, member):
    """Return the JSON of a body, with a member of JSON text added at the end."""
    return json.dumps(body).encode().removesuffix(b"}") + b", " + member + b"}"


@pytest.mark.database_independent
@pytest.mark.parametrize(
    "value",
    [b"[" * 64 + b"]" * 64, b'{"a":' * 64 + b"1" + b"}" * 64],
    ids=["lists", "objects"],
)
@pytest.mark.parametrize("operation", ONE_OF_EACH_SCHEME, indirect=True)
def test_json_that_is_65_levels_deep_is_refused(operation, valid_body, value):
    body = with_member(valid_body, b'"a": ' + value)

    assert errors(operation(body)) == [("a", "invalid")]


@pytest.mark.parametrize(
    "member",
    [
        pytest.param(
            b'"a": ' + b"[" * 62 + b"]" * 62,
            id="nested 64 deep, with the outer objects",
        ),
        pytest.param(b'"a": "' + b"[" * 100 + b'"', id="brackets in a string"),
        pytest.param(rb'"a": "\\\"' + b"{" * 100 + b'"', id="brackets behind escapes"),
        pytest.param(b'"a": [' + b"[]," * 100 + b"[]]", id="many brackets, not deep"),
        pytest.param(rb'"a": "\\u0000"', id="a backslash before u0000"),
        pytest.param(rb'"a": "\ud83d\ude00"', id="surrogate pair"),
        pytest.param(b'"a": 1e-400', id="underflow"),
        pytest.param(b'"a": 1e308', id="large double"),
    ],
)
def test_unusual_but_valid_json_is_accepted(update_user_group, user_group, member):
    body = b'{"user_group_id": "%s", "properties": {%s}}'

    response = update_user_group(body % (user_group.provided_id.encode(), member))

    assert response.status_code == 200


@pytest.mark.parametrize("operation", ONE_OF_EACH_SCHEME, indirect=True)
def test_the_last_of_duplicate_keys_wins(operation, valid_body):
    invalid = json.dumps(dict.fromkeys(valid_body, 1)).removesuffix("}")
    valid = json.dumps(valid_body).removeprefix("{")

    response = operation(f"{invalid}, {valid}".encode())

    assert response.status_code in (200, 201)


# 400: batches

LISTS = {
    name: field
    for name, operation in OPERATIONS.items()
    for field, value in (operation.body or {}).items()
    if isinstance(value, list) and field != "tags"
}
"""The field with the items, for each batch and for the lookup."""


@pytest.mark.database_independent
@pytest.mark.parametrize("operation", LISTS, indirect=True)
def test_a_batch_takes_a_list_of_at_most_1000_items(operation, valid_body, request):
    field = LISTS[request.node.callspec.params["operation"]]
    del valid_body[field]
    invalid = {"null": None, "not_a_list": "x", "max_length": ["x"] * 1001}

    assert errors(operation(valid_body)) == [(field, "required")]
    for code, value in invalid.items():
        assert errors(operation({**valid_body, field: value})) == [(field, code)]


# 405


METHODS = {"GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND"}


@pytest.mark.database_independent
def test_other_methods_are_not_allowed(any_operation):
    offered = {
        other.method
        for other in OPERATIONS.values()
        if other.url_name == any_operation.operation.url_name
    }
    if "GET" in offered:
        offered.add("HEAD")

    for method in sorted(METHODS - offered):
        # Whether the method exists is checked before the credentials.
        for credentials in ({}, {"HTTP_AUTHORIZATION": None}):
            response = any_operation(method=method, **credentials)

            assert error_code(response, 405) == "method_not_allowed"
            assert set(response["Allow"].split(", ")) == offered


def test_head_is_answered_like_get_without_a_body(any_operation):
    response = any_operation(method="HEAD")

    get = any_operation(method="GET")
    assert (response.status_code, response.content) == (get.status_code, b"")


# 413


def test_a_body_over_the_limit_is_refused(operation, valid_body):
    body = json.dumps(valid_body).encode()
    limit = operation.operation.max_body_size

    assert operation(body.ljust(limit)).status_code in (200, 201)
    assert error_code(operation(body.ljust(limit + 1)), 413) == "payload_too_large"


@pytest.mark.parametrize("operation", SINGLE_CALLS, indirect=True)
def test_the_limit_can_be_lowered(operation, valid_body, settings):
    settings.USERGROUPS_MAX_BODY_SIZE = 10

    response = operation(valid_body)

    assert error_code(response, 413) == "payload_too_large"
    assert detail(response) == "The body is larger than 10 bytes."


@pytest.mark.parametrize("operation", BATCHES, indirect=True)
def test_a_lower_limit_does_not_apply_to_batches(operation, valid_body, settings):
    settings.USERGROUPS_MAX_BODY_SIZE = 10

    assert operation(valid_body).status_code == 200


# 415


@pytest.mark.database_independent
@pytest.mark.parametrize(
    "content_type",
    [
        "",
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/*",
        "*/*",
        "application/jsonx",
        "application/json/x",
        "text/json",
        "application/vnd.api+json",
        "json",
        "x" * 1000,
        "\xff",
    ],
)
@pytest.mark.parametrize("operation", ONE_OF_EACH_SCHEME, indirect=True)
def test_another_content_type_is_refused(operation, valid_body, content_type):
    refused = operation(valid_body, CONTENT_TYPE=content_type)

    assert error_code(refused, 415) == "unsupported_media_type"


@pytest.mark.database_independent
@pytest.mark.parametrize(
    "content_type",
    [
        "application/json; charset=utf-8",
        "Application/JSON",
        "application/json;charset=latin-1",
    ],
)
@pytest.mark.parametrize("operation", ONE_OF_EACH_SCHEME, indirect=True)
def test_the_content_type_is_case_insensitive_and_may_have_parameters(
    operation, valid_body, content_type
):
    assert operation(valid_body, CONTENT_TYPE=content_type).status_code in (200, 201)


# Content-Encoding


@pytest.mark.database_independent
def test_an_encoded_body_is_refused(operation, valid_body):
    for encoding in ("gzip", "BR", "identity, gzip", "\xff"):
        response = operation(valid_body, HTTP_CONTENT_ENCODING=encoding)

        assert error_code(response, 415) == "unsupported_media_type"
        assert f'Unsupported Content-Encoding "{encoding}".' in detail(response)


@pytest.mark.parametrize("encoding", ["", "identity", "Identity"])
@pytest.mark.parametrize("operation", ONE_OF_EACH_SCHEME, indirect=True)
def test_a_body_may_say_that_it_is_not_encoded(operation, valid_body, encoding):
    response = operation(valid_body, HTTP_CONTENT_ENCODING=encoding)

    assert response.status_code in (200, 201)


# Accept


@pytest.mark.database_independent
@pytest.mark.parametrize(
    "accept",
    [
        "text/html",
        "application/xml",
        "application/json; indent=4",
        "",
        "\xff",
        "a/b/c",
    ],
)
@pytest.mark.parametrize("any_operation", ONE_OF_EACH_SCHEME, indirect=True)
def test_the_accept_header_is_ignored(any_operation, valid_body, accept):
    response = any_operation(valid_body, HTTP_ACCEPT=accept)

    assert response.status_code in (200, 201)
    assert response["Content-Type"] == "application/json"


# Accept-Language


@pytest.mark.database_independent
@pytest.mark.parametrize(
    ("extra", "status", "text"),
    [
        ({}, 400, "This field is required."),
        (
            {"HTTP_AUTHORIZATION": None},
            401,
            "Authentication credentials were not provided.",
        ),
        ({"method": "OPTIONS"}, 405, 'Method "OPTIONS" not allowed.'),
        (
            {"CONTENT_TYPE": "text/plain"},
            415,
            'Unsupported media type "text/plain" in request.',
        ),
    ],
)
def test_errors_are_in_english(update_user_group, settings, extra, status, text):
    settings.LANGUAGE_CODE = "de"
    settings.MIDDLEWARE = [
        "django.middleware.locale.LocaleMiddleware",
        *settings.MIDDLEWARE,
    ]

    response = update_user_group(body={}, HTTP_ACCEPT_LANGUAGE="de", **extra)

    assert (response.status_code, detail(response)) == (status, text)


# 500 and 503


@pytest.fixture
def fail(any_operation, settings):
    """Return a function that sets the exception that the operation raises when
    it loads its token, in a project with DEBUG.
    """
    settings.DEBUG = True
    raised = []

    def receiver(**kwargs):
        raise raised[0]

    post_init.connect(receiver, sender=type(any_operation.token))
    yield raised.append
    post_init.disconnect(receiver, sender=type(any_operation.token))


@pytest.mark.database_independent
@pytest.mark.parametrize(
    ("exception", "answer"),
    [
        (Http404, (404, "not_found")),
        (PermissionDenied, (403, "permission_denied")),
        (SuspiciousOperation, (400, "bad_request")),
        (OperationalError, (503, "service_unavailable")),
        (InterfaceError, (503, "service_unavailable")),
        (InternalError, (503, "service_unavailable")),
        (ZeroDivisionError, (500, "internal_error")),
    ],
)
@pytest.mark.parametrize("any_operation", ONE_OF_EACH_SCHEME, indirect=True)
def test_any_exception_is_answered_in_json_and_those_of_the_server_are_logged(
    any_operation, fail, caplog, exception, answer
):
    fail(exception("the inside story"))

    response = any_operation()

    status = response.status_code
    assert (status, error_code(response, status)) == answer
    assert b"inside story" not in response.content
    assert ("the inside story" in caplog.text) == (status >= 500)
    assert any_operation.token.secret not in caplog.text
    assert ("Retry-After" in response) == (status == 503)


# Paths and query strings


@pytest.mark.database_independent
def test_a_path_with_a_suffix_is_not_found(any_operation, valid_body):
    url = any_operation.url
    for suffix in ("/", "/x/y", "x", "//", "%2F"):
        # because "batchx" could be the id of a bookmark
        any_operation.url = re.sub("/(batch|lookup)x$", r"/\1/x/y", url + suffix)

        assert error_code(any_operation(valid_body), 404).endswith("not_found")


@pytest.mark.database_independent
def test_an_unknown_query_parameter_is_refused(any_operation, valid_body):
    for name in ("update_since", "\N{GRINNING FACE}", ""):
        response = any_operation(valid_body, query={name: "2999-01-01T00:00:00Z"})

        assert errors(response, 400) == [(name, "unknown_parameter")]


@pytest.mark.database_independent
@pytest.mark.parametrize(
    ("any_operation", "name"),
    [
        ("get_user_group", "user_group_id"),
        ("delete_user_group", "user_group_id"),
        ("list_user_groups", "limit"),
        ("list_bookmarks", "q"),
        ("list_collections", "cursor"),
        ("import_bookmarks", "format"),
        ("export_bookmarks", "format"),
    ],
    indirect=["any_operation"],
)
def test_a_repeated_query_parameter_is_refused(any_operation, valid_body, name):
    response = any_operation(valid_body, query={name: ["a", "b"]})

    assert errors(response, 400) == [(name, "repeated_parameter")]


@pytest.mark.database_independent
# 100 are allowed
@pytest.mark.parametrize(
    "query", ["%ff=1", "a=%00", "&".join(f"a{n}=1" for n in range(101))]
)
@pytest.mark.parametrize("any_operation", ONE_OF_EACH_SCHEME, indirect=True)
def test_an_unreadable_query_string_is_refused(any_operation, valid_body, query):
    any_operation.url += f"?{query}"

    assert error_code(any_operation(valid_body), 400) == "parse_error"


@pytest.mark.parametrize("any_operation", ["list_bookmarks"], indirect=True)
def test_a_bookmark_with_any_url_can_be_looked_up(any_operation):
    """A character of a URL can take twelve bytes of the query string."""
    longest = "https://example.com/".ljust(8000, "\N{GRINNING FACE}")

    assert any_operation(query={"url": longest}).status_code == 200


# Repeated writes

STATUSES_OF_REPETITIONS = {
    "delete_user_group": 404,
    "delete_bookmark": 404,
    "delete_collection": 404,
    "create_collection": 409,
    "issue_access_token": 201,
    "rotate_api_token": 201,
    "rotate_access_token": 201,
}
"""The responses to writes that are sent for the second time.

All others have the status 200.
"""


@pytest.mark.parametrize("any_operation", WRITES, indirect=True)
def test_a_write_can_be_sent_again(any_operation, valid_body, request):
    name = request.node.callspec.params["any_operation"]

    first = any_operation(valid_body)
    again = any_operation(valid_body)

    assert first.status_code in (200, 201)
    assert again.status_code == STATUSES_OF_REPETITIONS.get(name, 200)
