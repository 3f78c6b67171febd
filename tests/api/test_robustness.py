"""No input causes a server error, and every answer has the shape that the
contract defines.

The fixture ``operation`` calls an operation with a valid token. A test runs
for each operation that has a JSON body.
"""

import json

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.answers import errors

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters())
    # a number that overflows a double, and a text too long for a name
    | st.sampled_from([10**400, "x" * 300]),
    lambda children: (
        st.lists(children, max_size=5)
        | st.dictionaries(st.text(st.characters()), children, max_size=5)
    ),
    max_leaves=20,
)
fields = [
    "user_group_id",
    "name",
    "mapping",
    "properties",
    "url",
    "title",
    "collection",
    "user_groups",
    "bookmarks",
]
bodies = (
    st.fixed_dictionaries({}, optional=dict.fromkeys(fields, json_values))
    .map(json.dumps)
    .map(str.encode)
    | json_values.map(json.dumps).map(str.encode)
    | st.binary()
    | st.lists(st.sampled_from(rb'[ ] { } " \ : , a 1e999 \u0000 \ud800'.split())).map(
        b"".join
    )
)

# A server decodes headers as Latin-1, and refuses control characters in them.
header_values = st.text(
    st.characters(max_codepoint=255, exclude_categories=["Cc"]), max_size=200
)
with_fixtures = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


def check_answer(response, statuses):
    assert response.status_code in statuses
    assert response["Content-Type"] == "application/json"
    if response.status_code < 300:
        assert response.json()["success"] == 1
    else:
        assert errors(response, response.status_code)


@with_fixtures
@given(body=bodies)
def test_any_body_is_answered(operation, body):
    # A rotation without a grace period ends the token.
    check_answer(operation(body), {200, 201, 400, 401, 404, 409})


@with_fixtures
@given(
    authorization=header_values
    | header_values.map("Token {}".format)
    | header_values.map("Bearer {}".format),
    content_type=header_values,
    accept=header_values,
)
def test_any_header_is_answered(operation, authorization, content_type, accept):
    check_answer(
        operation(b"{}", CONTENT_TYPE=content_type, HTTP_ACCEPT=accept),
        {200, 400, 415},
    )
    check_answer(operation(b"{}", HTTP_AUTHORIZATION=authorization), {401})
