import pytest
from django.urls import reverse
from django.utils import translation

from tests.api.conftest import valid_body  # noqa: F401
from tests.bookmarks.factories import AccessTokenFactory, CollectionFactory
from tests.conftest import Caller


@pytest.fixture(autouse=True)
def in_english():
    """Activate English, in which the tests expect the messages of models and
    imports, in any host project.
    """
    with translation.override("en"):
        yield


@pytest.fixture
def access_token(user_group):
    """Return an access token of ``user_group``.

    A call with it does not write the time of its last use.
    """
    return AccessTokenFactory(user_group=user_group, recently_used=True)


@pytest.fixture
def call_bookmarks(api_client, access_token):
    """Return a function that calls the view with this URL name, with
    ``access_token`` by default.
    """

    def call(method, url_name, *ids, body=b"", query=None, token=access_token):
        url = reverse(f"bookmarks:{url_name}", args=ids)
        return Caller(api_client, method, url, "Bearer", token)(body, query=query)

    return call


@pytest.fixture
def call_access_tokens(api_client, api_token):
    """Return a function that calls the view with this URL name, with
    ``api_token``.
    """

    def call(method, url_name, *ids, body=b"", query=None):
        url = reverse(f"access_tokens:{url_name}", args=ids)
        return Caller(api_client, method, url, "Token", api_token)(body, query=query)

    return call


@pytest.fixture
def create_bookmark(api_client, access_token):
    """Return a function that sends a body to ``POST v1/bookmarks`` with
    ``access_token``, its attribute ``token``.
    """
    return Caller(
        api_client, "POST", reverse("bookmarks:bookmarks"), "Bearer", access_token
    )


@pytest.fixture
def collection(user_group):
    return CollectionFactory(user_group=user_group)
