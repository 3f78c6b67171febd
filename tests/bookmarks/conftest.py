import pytest

from tests.bookmarks.factories import AccessTokenFactory
from tests.conftest import Caller


@pytest.fixture
def create_bookmark(client, user_group):
    return Caller(
        client, "POST", "bookmarks:bookmarks", "Bearer", AccessTokenFactory(user_group=user_group, just_used=True)
    )
