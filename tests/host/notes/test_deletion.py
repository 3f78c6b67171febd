"""Deletions of user groups to which rows of the host refer. These tests run with the settings of the host."""

import pytest
from django.apps import apps
from django.db.models import ProtectedError

if not apps.is_installed("tests.host.notes"):
    pytest.skip("the host is not installed", allow_module_level=True)

from bookmarks.models import Bookmark
from tests.admin.actions import ask, confirm, url
from tests.bookmarks.factories import BookmarkFactory
from tests.host.notes.models import Mark, Mention, Note, Pin, Step
from usergroups import transactions
from usergroups.models import Team, UserGroup

pytestmark = pytest.mark.django_db


def counts(page):
    return dict(page.context["model_count"])


def test_the_deletion_page_counts_each_deleted_row_once(admin_client, user_group):
    note = Note.objects.create(user_group=user_group, team=user_group.team)
    Note.objects.create(user_group=user_group, above=note)
    Mention.objects.create(token=user_group)
    Mark.objects.create(user_group=user_group)
    Step.objects.create(user_group=user_group, note=note)

    page = admin_client.get(url("usergroups_team_delete", user_group.team.pk))

    assert counts(page) == {"teams": "1", "user groups": "1", "notes": "2", "mentions": "1", "steps": "1"}
    admin_client.post(url("usergroups_team_delete", user_group.team.pk), {"post": "yes"})
    assert [model.objects.count() for model in (Team, UserGroup, Note, Mention, Mark, Step)] == [0, 0, 0, 0, 1, 0]


def test_protected_rows_prevent_a_deletion(admin_client, user_group):
    pin = Pin.objects.create(user_group=user_group)

    page = ask(admin_client, "usergroups_usergroup", "delete_selected", user_group)
    confirm(admin_client, page, confirmed=str(user_group.pk))
    admin_client.post(url("usergroups_usergroup_delete", user_group.pk), {"post": "yes"})

    assert "The action cannot be performed:" in page.content.decode()
    assert f"Pin: {pin}" in page.content.decode().replace("&#x27;", "'")
    assert UserGroup.objects.exists()


@pytest.mark.parametrize("owner", ["user_group", "team"])
def test_protected_rows_prevent_the_deletion_of_all_others(user_group, owner):
    BookmarkFactory.create_batch(3, user_group=user_group)
    Pin.objects.create(user_group=user_group)

    with pytest.raises(ProtectedError):
        {"user_group": user_group, "team": user_group.team}[owner].delete()

    assert UserGroup.objects.exists()
    assert Bookmark.objects.count() == 3


def test_the_rows_of_the_host_are_deleted_with_a_group(user_group):
    for _ in range(3):
        Mention.objects.create(token=user_group)
        Note.objects.create(user_group=user_group, above=Note.objects.create(user_group=user_group))
    Mark.objects.create(user_group=user_group)

    user_group.delete()

    assert [model.objects.count() for model in (Note, Mention, Mark)] == [0, 0, 1]
    assert not UserGroup.objects.exists()


def test_the_rows_of_the_host_count_as_dependants(call_usergroups, user_group, monkeypatch):
    monkeypatch.setattr(transactions, "MAX_DEPENDANTS", 2)
    for _ in range(3):
        Mention.objects.create(token=user_group)

    response = call_usergroups("DELETE", "user", query={"user_group_id": user_group.provided_id})

    assert (response.status_code, Mention.objects.count()) == (409, 3)


def test_a_page_does_not_link_to_unregistered_models(admin_client, user_group):
    page = admin_client.get(url("usergroups_usergroup_change", user_group.pk))

    assert {link["name"] for link in page.context["related"]} == {"bookmarks", "collections", "access tokens"}
