"""The admin's log has the names of changed fields, and no values."""

import pytest
from django.contrib.admin.models import LogEntry

from tests.admin.actions import act, save, url
from tests.bookmarks.factories import BookmarkFactory, CollectionFactory
from tests.usergroups.factories import ApiTokenFactory, TeamFactory, UserGroupFactory

pytestmark = pytest.mark.django_db

SECRET = "do-not-tell"


def history(client, model, row):
    return client.get(url(f"{model}_history", row.pk)).content.decode()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"name": "New"}, "Changed Name."),
        ({"name": "A", "properties": f'{{"{SECRET}": "{SECRET}"}}'}, "Changed Properties."),
        (
            {"name": "New", "mapping": f'{{"40": "{SECRET}"}}', "properties": "{}"},
            "Changed Name, Mapping and Properties.",
        ),
    ],
)
def test_changes_are_logged_with_the_names_of_the_fields(admin_client, changes, message):
    user_group = UserGroupFactory(name="A", properties={"a": 1})

    save(admin_client, user_group, **changes)

    [entry] = LogEntry.objects.all()
    assert entry.get_change_message() == message
    assert message in history(admin_client, "usergroups_usergroup", user_group)
    assert SECRET not in str(LogEntry.objects.values())


def test_the_history_shows_each_step_of_a_tokens_life(admin_client):
    team = TeamFactory()
    admin_client.post(url("usergroups_apitoken_add"), {"team": team.pk, "name": "CI"})
    token = team.api_tokens.get()
    admin_client.post(url("usergroups_apitoken_change", token.pk), {"name": "New", "initial-name": "CI"})
    act(admin_client, "usergroups_apitoken", "rotate", token, grace="24")
    act(admin_client, "usergroups_apitoken", "revoke", token)

    page = history(admin_client, "usergroups_apitoken", token)

    for message in ("Issued.", "Changed Name.", "Rotated. Its successor is uga_", "Revoked."):
        assert message in page
    assert "admin" in page


def test_a_move_and_deletions_are_logged(admin_client):
    bookmark = BookmarkFactory()
    collection = CollectionFactory(user_group=bookmark.user_group)

    admin_client.post(url("bookmarks_bookmark_change", bookmark.pk), {"collection": collection.pk})
    act(admin_client, "bookmarks_bookmark", "delete_selected", bookmark)
    admin_client.post(url("bookmarks_collection_delete", collection.pk), {"post": "yes"})

    moved, *deleted = LogEntry.objects.order_by("pk")
    assert moved.get_change_message() == "Changed Collection."
    assert [(entry.object_id, entry.is_deletion()) for entry in deleted] == [
        (str(bookmark.pk), True), (str(collection.pk), True),
    ]  # fmt: skip


def test_failed_actions_are_not_logged(admin_client):
    token = ApiTokenFactory(revoked=True)
    admin_client.post(url("usergroups_team_add"), {"name": ""})
    act(admin_client, "usergroups_apitoken", "revoke", token)
    act(admin_client, "usergroups_apitoken", "rotate", token, grace="24")

    assert not LogEntry.objects.exists()
