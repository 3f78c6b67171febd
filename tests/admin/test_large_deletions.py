"""Large deletions by operators."""

import pytest
from django.core.management import call_command
from django.urls import reverse
from django.utils import timezone

from bookmarks.models import AccessToken, Bookmark, Collection
from tests.admin.actions import act
from tests.bookmarks.factories import AccessTokenFactory, BookmarkFactory, CollectionFactory
from tests.usergroups.factories import ApiTokenFactory, UserGroupFactory
from usergroups import deletion
from usergroups.models import ApiToken, Team, UserGroup


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch):
    monkeypatch.setattr(deletion, "CHUNK_SIZE", 5)


@pytest.fixture
def large_group(user_group):
    collection = CollectionFactory(user_group=user_group)
    BookmarkFactory.create_batch(12, user_group=user_group, collection=collection)
    AccessTokenFactory.create_batch(3, user_group=user_group)
    return user_group


def finish():
    call_command("finish_deletions")


def test_a_deleted_large_team_disappears_at_once(admin_client, call_usergroups, large_group):
    team = large_group.team
    UserGroupFactory.create_batch(7, team=team)
    ApiTokenFactory.create_batch(3, team=team)

    admin_client.post(reverse("admin:usergroups_team_delete", args=[team.pk]), {"post": "yes"})

    assert not Team.objects.exists()
    Team.objects.create(name=team.name).delete()
    assert call_usergroups("GET", "users").status_code == 401
    finish()
    models = (Team, UserGroup, ApiToken, AccessToken, Collection, Bookmark)
    assert [model._base_manager.count() for model in models] == [0] * 6


@pytest.mark.parametrize(
    "name",
    [
        "usergroups_usergroup",
        "usergroups_apitoken",
        "bookmarks_accesstoken",
        "bookmarks_collection",
        "bookmarks_bookmark",
    ],
)
def test_the_admin_hides_the_rows_of_a_deleted_team(admin_client, large_group, name):
    ApiTokenFactory(team=large_group.team)
    address = reverse(f"admin:{name}_changelist")
    listed = len(admin_client.get(address).context["cl"].result_list)

    Team.objects.update(deleted_at=timezone.now())

    assert listed > 0
    assert len(admin_client.get(address).context["cl"].result_list) == 0


def test_an_operator_deletes_several_large_user_groups(admin_client, large_group):
    other = UserGroupFactory(team=large_group.team)
    BookmarkFactory.create_batch(12, user_group=other)

    act(admin_client, "usergroups_usergroup", "delete_selected", large_group, other)

    assert not UserGroup.objects.exists()
    finish()
    assert not Bookmark.objects.exists()
    assert not UserGroup._base_manager.exists()
