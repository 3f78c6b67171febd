import pytest

from tests.operations import OPERATIONS, WITH_A_BODY, caller


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
def valid_body(user_group):
    """Return a body that every operation accepts, because unknown fields are
    ignored.
    """
    return {
        "user_group_id": user_group.provided_id,
        "name": "A name",
        "url": "https://example.com/",
        "user_groups": [],
        "bookmarks": [],
        "ids": [],
        "urls": [],
        "user_group_ids": [],
        "collection": None,
        "token": user_group.token,
    }
