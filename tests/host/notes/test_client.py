import pytest

from bookmarks.testing import AccessTokenFactory
from usergroups.testing import client_with

pytestmark = pytest.mark.django_db


def test_a_token_that_may_only_read_creates_nothing():
    token = AccessTokenFactory(read_only=True)

    response = client_with(token).post("/links/v1/bookmarks", {"url": "https://a/"})

    assert response.status_code == 403
