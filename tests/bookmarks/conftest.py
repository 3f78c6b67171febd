import pytest
from django.urls import reverse
from django.utils import translation
from django.utils.http import urlencode

from tests.bookmarks.factories import AccessTokenFactory, CollectionFactory
from tests.conftest import Caller
from tests.contract.conftest import valid_body  # noqa: F401


@pytest.fixture(autouse=True)
def in_english():
    """Call the models and the import in English in a host with another language. Requests choose theirs."""
    with translation.override("en"):
        yield


@pytest.fixture
def access_token(user_group):
    return AccessTokenFactory(user_group=user_group, recently_used=True)


@pytest.fixture
def call_bookmarks(client, access_token):
    """Return a function that calls the view with this URL name, with an access token of the group."""

    def call(method, url_name, *ids, body=b"", query=None, token=access_token):
        query = f"?{urlencode(query)}" if query else ""
        return Caller(client, method, reverse(f"bookmarks:{url_name}", args=ids) + query, "Bearer", token)(body)

    return call


@pytest.fixture
def create_bookmark(client, access_token):
    return Caller(client, "POST", reverse("bookmarks:bookmarks"), "Bearer", access_token)


@pytest.fixture
def collection(user_group):
    return CollectionFactory(user_group=user_group)
