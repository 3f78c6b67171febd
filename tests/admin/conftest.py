import pytest
from pytest_django.fixtures import client  # noqa: F401

from tests.admin.browser import browser, context, page, service  # noqa: F401
from tests.bookmarks.conftest import (  # noqa: F401
    access_token,
    call_access_tokens,
    call_bookmarks,
    collection,
)
from tests.bookmarks.factories import (
    AccessTokenFactory,
    BookmarkFactory,
    CollectionFactory,
)
from tests.usergroups.factories import ApiTokenFactory, TeamFactory, UserGroupFactory
from usergroups.admin_tools import lists, paginator, search


@pytest.fixture
def ten_rows_listed(monkeypatch):
    """Let lists and searches read ten rows, where they read 10,000."""
    for module in (lists, paginator, search):
        monkeypatch.setattr(module, "MAX_LISTED", 10)


@pytest.fixture
def everything(db):
    """Return an object of each model, by app label and model name.

    The name or the URL of each has "Findable".
    """
    user_group = UserGroupFactory(
        name="Findable", mapping={"40": 1}, properties={"plan": "pro"}
    )
    findable = CollectionFactory(user_group=user_group, name="Findable")
    return {
        "usergroups_team": TeamFactory(name="Findable"),
        "usergroups_usergroup": user_group,
        "usergroups_apitoken": ApiTokenFactory(team=user_group.team, name="Findable"),
        "bookmarks_collection": findable,
        "bookmarks_accesstoken": AccessTokenFactory(
            user_group=user_group, name="Findable"
        ),
        "bookmarks_bookmark": BookmarkFactory(
            user_group=user_group,
            collection=findable,
            url="https://example.com/Findable",
        ),
    }
