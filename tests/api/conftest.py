import pytest

from tests.operations import OPERATIONS, WITH_A_BODY, caller, valid_body_of


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
    return valid_body_of(name, user_group)
