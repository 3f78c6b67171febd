"""No header causes a server error.

tests/bookmarks_service/test_schemathesis.py searches the bodies and queries
of all operations.
"""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.answers import errors
from tests.operations import ONE_OF_EACH_SCHEME

pytestmark = pytest.mark.database_independent

# A server decodes headers as Latin-1, and refuses control characters in them.
header_values = st.text(
    st.characters(max_codepoint=255, exclude_categories=["Cc"]), max_size=200
)


def check_answer(response, statuses):
    assert response.status_code in statuses
    assert response["Content-Type"] == "application/json"
    assert errors(response, response.status_code)


@pytest.mark.parametrize("operation", ONE_OF_EACH_SCHEME, indirect=True)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    authorization=header_values
    | header_values.map("Token {}".format)
    | header_values.map("Bearer {}".format),
    content_type=header_values,
    accept=header_values,
)
def test_any_header_is_answered(operation, authorization, content_type, accept):
    without_fields = operation(b"{}", CONTENT_TYPE=content_type, HTTP_ACCEPT=accept)
    check_answer(without_fields, {400, 415})
    check_answer(operation(b"{}", HTTP_AUTHORIZATION=authorization), {401})
