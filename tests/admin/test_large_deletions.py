"""Large deletions by operators."""

import pytest
from django.urls import reverse

from bookmarks.models import AccessToken, Bookmark, Collection
from tests.admin.actions import ask
from tests.bookmarks.factories import AccessTokenFactory, BookmarkFactory, CollectionFactory
from tests.usergroups.factories import ApiTokenFactory, UserGroupFactory
from usergroups import transactions
from usergroups.models import ApiToken, Team, UserGroup


@pytest.fixture
def group(user_group):
    collection = CollectionFactory(user_group=user_group)
    BookmarkFactory.create_batch(5, user_group=user_group, collection=collection)
    AccessTokenFactory.create_batch(3, user_group=user_group)
    return user_group


def test_a_team_is_deleted_with_everything_that_belongs_to_it(admin_client, group):
    team = group.team
    UserGroupFactory.create_batch(7, team=team)
    ApiTokenFactory.create_batch(3, team=team)

    admin_client.post(reverse("admin:usergroups_team_delete", args=[team.pk]), {"post": "yes"})

    models = (Team, UserGroup, ApiToken, AccessToken, Collection, Bookmark)
    assert [model.objects.count() for model in models] == [0] * 6


@pytest.mark.parametrize("name", ["usergroups_team", "usergroups_usergroup", "bookmarks_collection"])
def test_a_deletion_that_takes_too_long_for_a_page_is_refused(admin_client, group, monkeypatch, name):
    monkeypatch.setattr(transactions, "MAX_DEPENDANTS", 4)
    collection = group.collections.get()
    row = {"usergroups_team": group.team, "usergroups_usergroup": group, "bookmarks_collection": collection}[name]

    page = admin_client.post(reverse(f"admin:{name}_delete", args=[row.pk]), {"post": "yes"})
    chosen = ask(admin_client, name, "delete_selected", row)

    command = f"manage.py delete_object {row._meta.label} ID"
    assert command in page.content.decode()
    assert command in chosen.content.decode()
    assert Bookmark.objects.filter(collection=collection).count() == 5
