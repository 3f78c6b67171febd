import pytest
from django.apps import apps

OPERATIONS = ["update_user_group", *(["create_bookmark"] if apps.is_installed("bookmarks") else [])]

if apps.is_installed("bookmarks"):
    from tests.bookmarks.conftest import create_bookmark  # noqa: F401


@pytest.fixture(params=OPERATIONS)
def operation(request):
    """Each operation of the apps that are installed, ready to be called."""
    return request.getfixturevalue(request.param)


@pytest.fixture
def valid_body(operation, user_group):
    """A body that the operation accepts, with room for more keys."""
    return {"user_group_id": user_group.provided_id, "url": "https://example.com/"}
