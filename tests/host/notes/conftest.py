import pytest

from bookmarks.testing import AccessTokenFactory
from tests.bookmarks.conftest import access_token, call_bookmarks  # noqa: F401
from usergroups.testing import client_with


@pytest.fixture
def token():
    return AccessTokenFactory(recently_used=True)


@pytest.fixture
def token_client(token):
    """Return a client with the access token that answers exceptions with
    500.
    """
    client = client_with(token)
    client.raise_request_exception = False
    return client
