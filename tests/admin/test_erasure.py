"""What is left of a user group after its deletion: an event with numbers."""

import json

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.sessions.models import Session
from django.core.management import call_command
from django.db import connection

from bookmarks.models import AccessToken, Bookmark, Collection
from tests.admin.actions import act, form_at, save, url
from tests.admin.test_files import upload
from tests.bookmarks.factories import (
    AccessTokenFactory,
    BookmarkFactory,
    CollectionFactory,
)
from tests.usergroups.factories import UserGroupFactory
from usergroups.events import Event

pytestmark = pytest.mark.django_db

SECRET = "Confidential"


def found_in_tables(*texts):
    """Return the names of all tables of the database with one of the texts."""
    found = set()
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            cursor.execute(f"SELECT * FROM {connection.ops.quote_name(table)}")
            content = str(cursor.fetchall())
            if any(text in content for text in texts):
                found.add(table)
    return found


def values_of(user_group):
    """Return the texts and keys by which the group, its tokens, collections and
    bookmarks could be told.
    """
    values = [SECRET, user_group.name, user_group.token]
    for model in (AccessToken, Bookmark, Collection):
        rows = model.objects.filter(user_group=user_group)
        if model is AccessToken:
            values += rows.values_list("hint", flat=True)
        else:
            values += [str(key) for key in rows.values_list("pk", flat=True)]
    return values


def change_all(client, user_group, other):
    """Change the group and all that belongs to it, to values with the text
    SECRET, also in actions that it shares with another group.
    """
    save(client, user_group, name=SECRET, properties=json.dumps({"key": SECRET}))
    for model, factory, name in [
        ("bookmarks_bookmark", BookmarkFactory, "title"),
        ("bookmarks_collection", CollectionFactory, "name"),
        ("bookmarks_accesstoken", AccessTokenFactory, "name"),
    ]:
        row = factory(user_group=user_group)
        address = url(f"{model}_change", row.pk)
        form = {**form_at(client, address), "collection": "", name: SECRET}
        client.post(address, form)
    upload(client, user_group, f"{SECRET}.csv", b"url\nhttps://a/\nx\n")
    for model, action, factory, fields in [
        ("bookmarks_accesstoken", "rotate", AccessTokenFactory, {"grace": "24"}),
        ("bookmarks_accesstoken", "revoke", AccessTokenFactory, {}),
        ("bookmarks_bookmark", "delete_selected", BookmarkFactory, {}),
    ]:
        shared = [factory(user_group=group) for group in (user_group, other)]
        act(client, model, action, *shared, **fields)


def delete_in_the_admin(client, user_group, call):
    user_group.refresh_from_db()
    name = user_group.name
    act(client, "usergroups_usergroup", "delete_selected", user_group, name=name)


def delete_team_in_the_admin(client, user_group, call):
    team = user_group.team
    act(client, "usergroups_team", "delete_selected", team, name=team.name)


def delete_with_the_api(client, user_group, call):
    query = {"user_group_id": user_group.provided_id}
    assert call("DELETE", "user", query=query).status_code == 200


def delete_with_a_batch(client, user_group, call):
    body = {"user_group_ids": [user_group.provided_id]}
    assert call("POST", "users-batch-delete", body).status_code == 200


def delete_with_the_command(client, user_group, call):
    options = ["--yes", "--operator=admin"]
    call_command("delete_object", "usergroups.UserGroup", str(user_group.pk), *options)


@pytest.mark.parametrize(
    "delete",
    [
        delete_in_the_admin,
        delete_team_in_the_admin,
        delete_with_the_api,
        delete_with_a_batch,
        delete_with_the_command,
    ],
)
def test_a_deletion_erases_all_values_and_leaves_one_event(
    admin_client, call_usergroups, api_token, user_group, delete
):
    other = UserGroupFactory(name="Another")
    change_all(admin_client, user_group, other)
    values = values_of(user_group)
    assert "usergroups_event" in found_in_tables(SECRET)
    entries = LogEntry.objects.count()
    wholes = set(Event.objects.filter(user_group=None))
    of_other = set(Event.objects.filter(user_group=other))
    assert (len(wholes), len(of_other)) == (3, 3)

    delete(admin_client, user_group, call_usergroups)

    # Messages of pages that were not shown yet
    Session.objects.all().delete()
    # The ids of bookmarks, which are no values, remain in Django's history.
    assert found_in_tables(*values) <= {"django_admin_log"}
    assert found_in_tables(SECRET, user_group.name) == set()
    assert LogEntry.objects.count() >= entries
    assert set(Event.objects.filter(user_group=other)) == of_other
    [event] = set(Event.objects.filter(user_group=None)) - wholes
    assert event.kind == "deleted"
    assert event.counts["usergroups.usergroup"] == 1
    assert event.counts["bookmarks.bookmark"] == 2
    assert event.actor in ("admin", f"{api_token.hint}…")
    for page in (url("usergroups_event_changelist"), url("index")):
        assert SECRET not in admin_client.get(page).content.decode()


def test_a_deleted_team_leaves_no_names_of_its_tokens(admin_client, api_token):
    team = api_token.team
    address = url("usergroups_apitoken_change", api_token.pk)
    admin_client.post(address, {**form_at(admin_client, address), "name": SECRET})
    assert found_in_tables(SECRET) == {"usergroups_apitoken", "usergroups_event"}

    act(admin_client, "usergroups_team", "delete_selected", team, name=team.name)

    Session.objects.all().delete()
    assert found_in_tables(SECRET, team.name) == set()
