"""The timeline of a user group, and what is left of it after its deletion."""

import json
from datetime import timedelta

import pytest
from django.contrib.admin.models import LogEntry
from django.core.management import CommandError, call_command
from django.utils import timezone

from bookmarks.models import AccessToken, Bookmark
from tests.admin.actions import act, form_at, log_in_with, save, url
from tests.admin.test_files import EXPORT, upload
from tests.bookmarks.factories import (
    AccessTokenFactory,
    BookmarkFactory,
    CollectionFactory,
)
from tests.queries import queries_of
from tests.usergroups.factories import UserGroupFactory
from usergroups.events import Event, owners
from usergroups.models import ApiToken, UserGroup

pytestmark = pytest.mark.django_db

TIMELINE = "usergroups_event_changelist"
SECRET = "Confidential"


def timeline(client, user_group):
    """Return the events of a group in words, the newest first."""
    page = client.get(url(TIMELINE), {"user_group__id__exact": user_group.pk})
    admin = page.context["cl"].model_admin
    return [
        (event.actor, str(admin.description(event)))
        for event in page.context["cl"].result_list
    ]


def change_all(client, user_group):
    """Change a user group, one of its bookmarks, one of its collections and
    its access token, so that the history has the text SECRET.
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
    bookmarks = BookmarkFactory.create_batch(2, user_group=user_group, title=SECRET)
    collection = CollectionFactory(user_group=user_group, name=f"{SECRET} 2")
    act(client, "bookmarks_bookmark", "move", *bookmarks, collection=collection.pk)
    act(client, "bookmarks_bookmark", "delete_selected", bookmarks[0])


def test_the_page_of_a_user_group_links_to_its_timeline(admin_client, user_group):
    save(admin_client, user_group, name="New")

    page = admin_client.get(url("usergroups_usergroup_change", user_group.pk))

    address = f"{url(TIMELINE)}?user_group__id__exact={user_group.pk}"
    assert f'<a href="{address}">Timeline: 1</a>' in page.content.decode()


def test_a_search_of_the_timeline_which_has_none_shows_all_events(
    admin_client, user_group
):
    save(admin_client, user_group, name="New")

    page = admin_client.get(url(TIMELINE), {"q": "x"})

    assert [event.user_group for event in page.context["cl"].result_list] == [
        user_group
    ]


def test_the_timeline_has_what_operators_did(admin_client, user_group):
    token = AccessTokenFactory(user_group=user_group)
    save(admin_client, user_group, name="New")
    BookmarkFactory.create_batch(2, user_group=user_group)
    other = BookmarkFactory()
    bookmarks = list(Bookmark.objects.all())
    act(admin_client, "bookmarks_bookmark", "delete_selected", *bookmarks)
    act(admin_client, "bookmarks_accesstoken", "revoke", token)
    query = {"user_group": user_group.pk, "format": "csv"}
    admin_client.get(EXPORT, query).getvalue()

    [export, revocation, deletion, change] = timeline(admin_client, user_group)

    assert export == ("admin", "Exported · CSV")
    assert revocation[0] == "admin"
    assert revocation[1].endswith("Revoked. ")
    assert deletion[1].startswith("3 bookmarks · Deleted. 3 bookmarks<details>")
    assert "Changed Name. " in change[1]
    [of_other] = timeline(admin_client, other.user_group)
    assert of_other == deletion


def test_the_timeline_has_imports_with_their_refused_lines(admin_client, user_group):
    upload(admin_client, user_group, "a.csv", b"url,title\nhttps://a/,A\nx,Wrong\n")

    [(actor, text)] = timeline(admin_client, user_group)
    event = Event.objects.get()
    address = url("usergroups_event_refused", event.pk)
    lines = admin_client.get(address)

    assert actor == "admin"
    assert text == (
        f'Imported · new: 1, refused: 1 · a.csv · <a href="{address}">Refused lines as '
        "CSV</a>"
    )
    assert lines["Content-Disposition"] == 'attachment; filename="refused.csv"'
    assert lines.content.decode().splitlines() == [
        "line,url,title,reason",
        "3,x,Wrong,The URL has no scheme such as https://.",
    ]


def test_the_timeline_has_what_commands_did(admin_client, user_group, tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"url": "https://a/"}')
    options = [
        f"--team={user_group.team.name}",
        f"--user-group={user_group.provided_id}",
    ]

    call_command("import_bookmarks", str(path), *options)
    call_command("export_bookmarks", str(tmp_path / "b.csv"), *options)

    assert timeline(admin_client, user_group) == [
        ("export_bookmarks", "Exported · CSV"),
        ("import_bookmarks", "Imported · new: 1 · a.jsonl"),
    ]


def test_the_timeline_has_what_calls_did_in_bulk(
    admin_client, call_usergroups, call_bookmarks, call_access_tokens, access_token
):
    user_group = access_token.user_group
    bookmarks = BookmarkFactory.create_batch(2, user_group=user_group)
    ids = [str(bookmark.pk) for bookmark in bookmarks]
    collection = CollectionFactory(user_group=user_group)
    old = access_token.hint

    call_bookmarks("POST", "bookmarks-batch-delete", body={"ids": ids})
    call_bookmarks("DELETE", "collection", collection.pk)
    file = b"url\nhttps://a/\n"
    call_bookmarks("POST", "imports", body=file, query={"format": "csv"})
    call_bookmarks("GET", "export", query={"format": "csv"}).getvalue()
    call_bookmarks("POST", "token-rotate", body={"grace": 60})
    body = {"user_group_id": user_group.provided_id}
    call_usergroups("POST", "user-token", body)
    tokens = list(AccessToken.objects.order_by("pk"))
    body = {"ids": [token.public_id for token in tokens]}
    call_access_tokens("POST", "access-tokens-batch-revoke", body=body)

    team = f"{ApiToken.objects.get().hint}…"
    group = f"{old}…"
    hints = [f"{token.hint}…" for token in tokens]
    assert timeline(admin_client, user_group) == [
        (team, f"Revoked · 2 access tokens · {', '.join(hints)}"),
        (team, "Rotated · 1 user group"),
        (group, f"Rotated · 1 access token · {' → '.join(hints)}"),
        (group, "Exported · CSV"),
        (group, "Imported · new: 1"),
        (group, "Deleted · 1 collection"),
        (group, "Deleted · 2 bookmarks"),
    ]


def test_a_write_of_one_row_is_not_recorded(
    call_bookmarks, update_user_group, user_group
):
    bookmark = BookmarkFactory(user_group=user_group)

    update_user_group({"user_group_id": user_group.provided_id, "name": "New"})
    call_bookmarks("POST", "bookmarks", body={"url": "https://a/"})
    call_bookmarks("DELETE", "bookmark", bookmark.pk)

    assert not Event.objects.exists()


def test_the_timeline_takes_the_same_queries_for_few_and_for_many(
    admin_client, user_group
):
    address = f"{url(TIMELINE)}?user_group__id__exact={user_group.pk}"
    numbers = []
    for round_number in range(2):
        for number in range(5):
            save(admin_client, user_group, name=f"{round_number} {number}")
        numbers.append(len(queries_of(admin_client.get, address)))

    # Session and user, the chosen group, the count, the events, and the
    # entries of the history about them.
    assert numbers == [6, 6]


@pytest.mark.parametrize(
    ("permissions", "number"),
    [(["view_usergroup"], 1), (["view_usergroup", "view_bookmark"], 2), ([], 0)],
)
def test_operators_see_the_events_about_models_that_they_may_view(
    client, admin_client, user_group, permissions, number
):
    save(admin_client, user_group, name="New")
    upload(admin_client, user_group, "a.csv", b"url\nhttps://a/\nx\n")
    lines = url("usergroups_event_refused", Event.objects.latest("pk").pk)

    log_in_with(client, *permissions)

    page = client.get(url(TIMELINE))
    shown = len(page.context["cl"].result_list) if number else 0
    assert shown == number
    assert client.get(lines).status_code == (200 if number == 2 else 404)


def test_rows_without_a_user_group_have_no_events(user_group):
    rows = [user_group, Bookmark(user_group=user_group), Bookmark(), user_group.team]

    assert owners(rows) == {user_group.pk: 2}


@pytest.mark.parametrize("key", ["x", "00000000-0000-7000-8000-000000000000"])
def test_only_imports_have_refused_lines(admin_client, key):
    assert admin_client.get(url("usergroups_event_refused", key)).status_code == 404


# Erasure


def kept(user_group):
    """Return all that the history and the timeline keep, as text."""
    return str([*LogEntry.objects.values(), *Event.objects.values()])


def delete_in_the_admin(client, user_group, call):
    act(client, "usergroups_usergroup", "delete_selected", user_group)


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
def test_a_deletion_erases_the_values_and_leaves_one_event(
    admin_client, call_usergroups, api_token, user_group, delete
):
    other = UserGroupFactory(name="Another")
    save(admin_client, other, name="Renamed")
    change_all(admin_client, user_group)
    entries = list(LogEntry.objects.order_by("pk").values("pk", "object_id"))
    name = str(UserGroup.objects.get(pk=user_group.pk))
    assert kept(user_group).count(SECRET) > 5

    delete(admin_client, user_group, call_usergroups)

    assert SECRET not in kept(user_group)
    assert name not in kept(user_group)
    assert "Renamed" in kept(user_group)
    remaining = LogEntry.objects.order_by("pk").values("pk", "object_id")
    assert list(remaining)[: len(entries)] == entries
    event = Event.objects.get(user_group=None)
    assert event.kind == "deleted"
    assert event.counts["usergroups.UserGroup"] == 1
    assert event.counts["bookmarks.Bookmark"] == 2
    assert event.actor in ("admin", f"{api_token.hint}…")
    assert Event.objects.exclude(user_group=None).get().user_group == other
    for page in (url("admin_logentry_changelist"), url(TIMELINE), url("index")):
        assert SECRET not in admin_client.get(page).content.decode()


def test_the_list_of_changes_shows_what_was_deleted_and_what_was_erased(
    admin_client, user_group
):
    change_all(admin_client, user_group)
    act(admin_client, "usergroups_usergroup", "delete_selected", user_group)

    page = admin_client.get(url("admin_logentry_changelist")).content.decode()

    assert f"User group: {user_group.pk}<" in page
    assert "Deleted. 1 access token, 2 collections, 2 bookmarks, 1 user group<" in page
    assert page.count("The values were erased.") == 4


def test_old_values_are_erased_by_a_command(admin_client, user_group, capsys):
    change_all(admin_client, user_group)
    upload(admin_client, user_group, f"{SECRET}.csv", b"url\nhttps://a/\nx\n")
    now = timezone.now()
    old = LogEntry.objects.order_by("pk").first()
    LogEntry.objects.filter(pk=old.pk).update(action_time=now - timedelta(days=100))
    imports = Event.objects.filter(kind="imported")

    imports.update(at=now - timedelta(days=31))
    capsys.readouterr()
    call_command("erase_old_changes", "--days=90")

    assert capsys.readouterr().err == "Erased 2 old changes and events.\n"
    erased = LogEntry.objects.get(pk=old.pk)
    assert (erased.object_repr, erased.change_message) == ("", "")
    assert (erased.object_id, erased.user.username) == (str(user_group.pk), "admin")
    assert imports.get().refused_lines == ""
    assert imports.get().text == f"{SECRET}.csv"
    assert SECRET in str(LogEntry.objects.values())
    number_of_events = Event.objects.count()
    Event.objects.create(at=now - timedelta(days=31))  # a deletion

    statements = queries_of(call_command, "erase_old_changes", "--days=30")

    assert not imports.exists()
    assert Event.objects.count() == number_of_events
    # For each of entries, events and refused lines a SELECT, and for the event
    # a DELETE and the last SELECT.
    assert len(statements) == 3 + 2


@pytest.mark.parametrize("days", ["0", "x", "999999999"])
def test_the_age_of_old_values_is_a_number_of_days(days):
    with pytest.raises(CommandError, match="--days"):
        call_command("erase_old_changes", f"--days={days}")
