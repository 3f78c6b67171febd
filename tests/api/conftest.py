import pytest

from tests.operations import OPERATIONS, WITH_A_BODY, body_of, caller


@pytest.fixture(params=WITH_A_BODY)
def operation(request, api_client, user_group):
    """Return a function that calls an operation.

    The test runs for each operation with a body.
    """
    return caller(api_client, user_group, request.param)


@pytest.fixture(params=OPERATIONS)
def any_operation(request, api_client, user_group):
    """Return a function that calls an operation.

    The test runs for each operation.
    """
    return caller(api_client, user_group, request.param)


@pytest.fixture
def valid_body(request, user_group):
    """Return a body that the operation of the test accepts."""
    # The names come from one of the fixtures above, or from the test.
    params = request.node.callspec.params
    name = params.get("operation") or params.get("any_operation") or params["name"]
    values = {
        "user_group_id": user_group.provided_id,
        "name": "A name",
        "url": "https://example.com/",
        "user_groups": [],
        "bookmarks": [],
        "ids": [],
        "urls": [],
        "grace": 3600,
        "user_group_ids": [],
        "collection": None,
        "token": user_group.token,
    }
    return body_of(name, values)
