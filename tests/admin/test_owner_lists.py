"""The last use in the lists of teams and user groups."""

import re
from datetime import timedelta

import pytest
from django.utils import timezone

from tests.admin.actions import listed, url
from tests.bookmarks.factories import AccessTokenFactory
from tests.usergroups.factories import ApiTokenFactory, TeamFactory, UserGroupFactory
from usergroups.testing import hours_ago

pytestmark = pytest.mark.django_db

INACTIVE = {"use": "inactive"}


def last_uses(client, model):
    """Return the last use in each row of a list."""
    page = client.get(url(f"usergroups_{model}_changelist")).content.decode()
    cells = re.findall(r'<td class="field-last_use[^>]*>(.*?)</td>', page)
    return [" ".join(re.sub(r"<[^>]+>", "", cell).split()) for cell in cells]


def test_the_lists_show_the_last_use(admin_client, user_group):
    now = timezone.now()
    UserGroupFactory(team=user_group.team)
    for hours in (5, 3):
        AccessTokenFactory(
            user_group=user_group, last_used_at=now - timedelta(hours=hours)
        )
    AccessTokenFactory(user_group=user_group)
    ApiTokenFactory(
        team=user_group.team, last_used_at=now - timedelta(days=2), revoked=True
    )

    # The newest user group comes first.
    assert last_uses(admin_client, "usergroup") == ["Never", "3 hours ago"]
    assert last_uses(admin_client, "team") == ["2 days ago"]


def test_user_groups_are_filtered_by_use(admin_client):
    old = hours_ago(91 * 24)
    groups = UserGroupFactory.create_batch(3, created_at=old)
    unused, long_unused, used = groups
    AccessTokenFactory(user_group=long_unused, last_used_at=old)
    AccessTokenFactory(user_group=used, last_used_at=old)
    AccessTokenFactory(user_group=used, recently_used=True, revoked=True)
    UserGroupFactory()  # new

    inactive = listed(admin_client, "usergroups_usergroup", **INACTIVE)

    assert inactive == {unused, long_unused}
    assert len(listed(admin_client, "usergroups_usergroup", use="other")) == 4


def test_teams_are_filtered_by_the_use_of_their_api_tokens(admin_client):
    unused, used = TeamFactory.create_batch(2)
    ApiTokenFactory(team=unused, last_used_at=hours_ago(91 * 24))
    ApiTokenFactory(team=used, recently_used=True)

    assert listed(admin_client, "usergroups_team", **INACTIVE) == {unused}
