"""The list of events: what operators, calls and commands did, as a whole and as
the history of each row.
"""

import re
from datetime import timedelta

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.forms import CharField
from django.utils import timezone
from django.utils.html import strip_tags
from uuid_utils.compat import uuid7

from bookmarks.models import AccessToken, Bookmark
from tests.admin.actions import act, act_on_page, allow_only, log_in_with, save, url
from tests.admin.test_files import EXPORT, upload
from tests.bookmarks.factories import (
    AccessTokenFactory,
    BookmarkFactory,
    CollectionFactory,
)
from tests.queries import queries_of
from tests.usergroups.factories import ApiTokenFactory, TeamFactory, UserGroupFactory
from usergroups.admin import TeamAdmin
from usergroups.admin_tools.forms import OperatorForm
from usergroups.events import Event, Kind, actor_name, events_about, record_events
from usergroups.models import ApiToken, UserGroup

pytestmark = pytest.mark.django_db

LIST = "usergroups_event_changelist"


def told(page):
    """Return who did what, in words, of the events in a list."""
    cl = page.context["cl"]
    return [
        (event.actor, " ".join(strip_tags(cl.model_admin.description(event)).split()))
        for event in cl.result_list
    ]


def all_events(client, **query):
    return told(client.get(url(LIST), query))


def history(client, row):
    """Return the events that the button History of a row leads to."""
    model = row._meta.label_lower.replace(".", "_")
    return told(client.get(url(f"{model}_history", row.pk), follow=True))


# Changes of one row


@pytest.mark.parametrize(
    ("changes", "kept"),
    [
        ({"name": "New"}, {"name": ["A", "New"]}),
        ({"properties": '{"b": 2}'}, {"properties": [{"a": 1}, {"b": 2}]}),
        (
            {"name": "New", "mapping": '{"40": "x"}', "properties": ""},
            {
                "name": ["A", "New"],
                "mapping": [{}, {"40": "x"}],
                "properties": [{"a": 1}, None],
            },
        ),
    ],
    ids=["name", "JSON", "several"],
)
def test_a_change_keeps_the_old_and_the_new_values_and_djangos_entry_has_none(
    admin_client, changes, kept
):
    user_group = UserGroupFactory(name="A", properties={"a": 1})

    save(admin_client, user_group, **changes)

    event = Event.objects.get()
    assert event.changes == kept
    assert (event.actor, event.kind) == ("admin", "changed")
    assert event.user_group == user_group
    assert user_group.token not in str(Event.objects.values())
    entry = LogEntry.objects.get()
    assert entry.get_change_message().startswith("Changed ")
    assert entry.object_repr == str(user_group.pk)
    assert "values" not in entry.change_message
    assert entry.get_edited_object() == user_group


def test_values_are_shown_newest_first_and_escaped(admin_client):
    user_group = UserGroupFactory(name="<A>")
    for name in ("B", "C"):
        save(admin_client, user_group, name=name)

    address = url("usergroups_usergroup_history", user_group.pk)
    page = admin_client.get(address, follow=True).content.decode()

    assert re.findall(r"<pre[^>]*>(.*?)</pre>", page) == ["B", "C", "&lt;A&gt;", "B"]


class FormWithNote(OperatorForm):
    """The form of a host, with a field that is not one of the model."""

    note = CharField(required=False)


@pytest.mark.parametrize(
    ("name", "kept"),
    [("B", {"name": ["A", "B"]}), ("A", {})],
    ids=["both", "only the other"],
)
def test_a_field_of_the_form_alone_is_neither_saved_nor_kept(
    admin_client, monkeypatch, name, kept
):
    monkeypatch.setattr(TeamAdmin, "form", FormWithNote)
    team = TeamFactory(name="A")
    sent = {"name": name, "initial-name": "A", "note": "x"}

    response = admin_client.post(url("usergroups_team_change", team.pk), sent)

    assert response.status_code == 302
    team.refresh_from_db()
    assert team.name == name
    assert Event.objects.get().changes == kept


def test_values_that_are_too_long_are_not_kept(admin_client):
    # over 50,000 characters
    user_group = UserGroupFactory(name="A", properties={"a": "x" * 60_000})

    save(admin_client, user_group, properties="", name="B")

    assert Event.objects.get().changes == {"name": ["A", "B"], "properties": None}
    [(_, text)] = history(admin_client, user_group)
    assert text.endswith("Properties")


def test_changes_of_accounts_are_listed_without_values(admin_client, admin_user):
    admin_user.first_name = "Ann"
    admin_user.last_name = "Example"
    admin_user.save()
    password = {"password1": "correct horse", "password2": "correct horse"}
    admin_client.post(url("auth_user_add"), {"username": "new", **password})
    account = User.objects.get(username="new")

    admin_client.post(url("auth_user_password_change", account.pk), password)

    assert history(admin_client, account) == [
        ("Ann Example (admin)", "Changed · 1 user · new · Password"),
        ("Ann Example (admin)", "Added · 1 user · new"),
    ]
    assert "correct horse" not in str(Event.objects.values())


def test_the_history_of_a_deleted_row_is_reached_by_its_key(admin_client):
    bookmark = BookmarkFactory(url="https://example.com/gone")
    act(admin_client, "bookmarks_bookmark", "delete_selected", bookmark)

    query = f"bookmarks.bookmark:{bookmark.pk}"

    assert all_events(admin_client, object=query) == [
        ("admin", "Deleted · 1 bookmark · https://example.com/gone")
    ]


def test_without_the_list_the_history_is_djangos(admin_client, monkeypatch, user_group):
    monkeypatch.setattr("usergroups.admin_tools.history.can_view", lambda *args: False)
    save(admin_client, user_group, name="New")

    page = admin_client.get(url("usergroups_usergroup_history", user_group.pk))

    assert "Changed Name." in page.content.decode()


def test_failed_actions_are_not_recorded(admin_client):
    token = ApiTokenFactory(revoked=True)
    admin_client.post(url("usergroups_team_add"), {"name": ""})
    act(admin_client, "usergroups_apitoken", "revoke", token)
    act(admin_client, "usergroups_apitoken", "rotate", token, grace="24")

    assert not LogEntry.objects.exists()
    assert not Event.objects.exists()


# Actions


def test_a_rotation_is_one_event_of_both_tokens_and_of_the_customer(
    admin_client, user_group
):
    old = AccessTokenFactory(user_group=user_group)

    act(admin_client, "bookmarks_accesstoken", "rotate", old, grace="24")

    new = AccessToken.objects.exclude(pk=old.pk).get()
    expected = ("admin", f"Rotated · 1 access token · {old.hint}… → {new.hint}…")
    for rows in (old, new, user_group):
        assert history(admin_client, rows) == [expected]
    assert all_events(admin_client) == [expected]


def test_an_action_on_rows_of_several_owners_is_one_entry_and_a_share_of_each(
    admin_client,
):
    first, second = UserGroupFactory.create_batch(2)
    tokens = AccessTokenFactory.create_batch(2, user_group=first)
    other = AccessTokenFactory(user_group=second)
    act(admin_client, "bookmarks_accesstoken", "revoke", *tokens, other)
    names = ", ".join(map(str, tokens))
    of_first = ("admin", f"Revoked · 2 access tokens · {names}")
    of_second = ("admin", f"Revoked · 1 access token · {other}")

    page = admin_client.get(url(LIST))
    whole = page.context["cl"].result_list[0]
    link = re.search(r'<a href="(\?object=[^"]*)">Several</a>', page.content.decode())

    assert told(page) == [("admin", "Revoked · 3 access tokens")]
    assert all_events(admin_client, object="bookmarks.accesstoken") == told(page)
    assert history(admin_client, first) == [of_first]
    assert history(admin_client, second) == [of_second]
    for token in tokens:
        assert history(admin_client, token) == [of_first]
    assert history(admin_client, other) == [of_second]
    assert told(admin_client.get(url(LIST) + link[1])) == [of_second, of_first]
    assert "keys" not in whole.__dict__
    assert Event.objects.get(pk=whole.pk).keys == ""


def test_the_history_has_what_operators_did(admin_client, user_group):
    token = AccessTokenFactory(user_group=user_group)
    save(admin_client, user_group, name="New")
    bookmarks = BookmarkFactory.create_batch(2, user_group=user_group)
    act(admin_client, "bookmarks_bookmark", "delete_selected", *bookmarks)
    act(admin_client, "bookmarks_accesstoken", "revoke", token)
    act_on_page(admin_client, "usergroups_usergroup", "reveal_token", user_group)
    query = {"user_group": user_group.pk, "format": "csv"}
    admin_client.get(EXPORT, query).getvalue()
    named = UserGroup.objects.get()

    urls = ", ".join(bookmark.url for bookmark in bookmarks)
    assert [text for _, text in history(admin_client, user_group)] == [
        "Exported · CSV",
        f"Revealed · 1 user group · {named}",
        f"Revoked · 1 access token · {token}",
        f"Deleted · 2 bookmarks · {urls}",
        f"Changed · 1 user group · {named} · Name{user_group.name} → New",
    ]


def test_the_history_has_imports_with_their_refused_lines(admin_client, user_group):
    upload(admin_client, user_group, "a.csv", b"url,title\nhttps://a/,A\nx,Wrong\n")

    [(actor, text)] = history(admin_client, user_group)
    lines = admin_client.get(url("usergroups_event_refused", Event.objects.get().pk))

    assert actor == "admin"
    assert text == "Imported · new: 1, refused: 1 · a.csv · Refused lines as CSV"
    assert lines["Content-Disposition"] == 'attachment; filename="refused-a.csv"'
    assert lines.content.decode().splitlines() == [
        "line,url,title,reason",
        "3,x,Wrong,The URL has no scheme such as https://.",
    ]


@pytest.mark.parametrize("key", ["x", "00000000-0000-7000-8000-000000000000"])
def test_only_imports_have_refused_lines(admin_client, key):
    assert admin_client.get(url("usergroups_event_refused", key)).status_code == 404


def test_the_history_has_what_calls_did_in_bulk(
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
    hints = " → ".join(f"{token.hint}…" for token in tokens)
    names = ", ".join(map(str, tokens))
    assert history(admin_client, user_group) == [
        (team, f"Revoked · 2 access tokens · {names}"),
        (team, f"Rotated · 1 user group · {user_group.name}"),
        (group, f"Rotated · 1 access token · {hints}"),
        (group, "Exported · CSV"),
        (group, "Imported · new: 1"),
        (group, f"Deleted · 1 collection · {collection.pk}"),
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


def test_rows_without_an_owner_have_events_without_one(user_group):
    rows = [Bookmark(user_group=user_group), Bookmark(user_group=user_group)]
    [of_group] = events_about(Kind.CHANGED, rows)
    [of_none] = events_about(Kind.CHANGED, [User(pk=1, username="a")])
    whole, *_ = events_about(Kind.CHANGED, [*rows, Bookmark()])

    assert of_group.user_group_id == user_group.pk
    assert of_group.counts == {"bookmarks.bookmark": 2}
    assert (of_none.user_group_id, of_none.team_id) == (None, None)
    assert whole.counts == {"bookmarks.bookmark": 3}


# The list


def test_the_list_takes_the_same_queries_for_few_and_for_many(admin_client, user_group):
    address = f"{url(LIST)}?user_group__id__exact={user_group.pk}"
    numbers = []
    for number in (1, 5):
        for _ in range(number):
            event_at(timezone.now(), user_group=user_group)
        numbers.append(len(queries_of(admin_client.get, address)))

    # Session and user, the chosen group and its team, the count, and the events.
    assert numbers == [6, 6]


def event_at(at, **fields):
    """Insert an event of that time, to which its key belongs."""
    key = uuid7(nanoseconds=int(at.timestamp() * 1_000_000_000))
    fields = {"kind": "changed", "model": "usergroups.usergroup", **fields}
    event = Event(id=key, at=at, **fields)
    record_events([event])
    return event


def test_events_are_filtered(admin_client, user_group):
    now = timezone.now()
    yesterday = event_at(now - timedelta(days=1), text="b", actor="Ann (ann)")
    older = event_at(now - timedelta(days=40), text="c", kind="revoked")
    team = TeamFactory()
    newest = event_at(now, team=team, model="usergroups.team")

    def found(**query):
        page = admin_client.get(url(LIST), query)
        return list(page.context["cl"].result_list)

    day = timezone.localdate(yesterday.at).isoformat()
    last = timezone.localdate(now).isoformat()
    assert found() == [newest, yesterday, older]
    assert found(q="ann") == [yesterday]
    assert found(kind__exact="revoked") == [older]
    assert found(team__id__exact=team.pk) == [newest]
    assert found(user_group__id__exact=user_group.pk) == []
    assert found(object="usergroups.team") == [newest]
    assert found(day=day) == [yesterday]
    assert found(day=f"{day}..{last}") == [newest, yesterday]
    page = admin_client.get(url(LIST)).content.decode()
    assert f'href="?day={day}">Yesterday<' in page


@pytest.mark.parametrize("query", ["day=x", "day=2027-02-30", "day=9999-12-31"])
def test_a_malformed_day_filters_nothing(admin_client, query):
    page = admin_client.get(f"{url(LIST)}?{query}")

    assert page.status_code == 302
    assert page["Location"] == f"{url(LIST)}?e=1"


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

    page = client.get(url(LIST))
    shown = len(page.context["cl"].result_list) if number else 0
    assert shown == number
    assert client.get(lines).status_code == (200 if number == 2 else 404)


def test_the_list_is_read_only(client, admin_client, user_group):
    save(admin_client, user_group, name="New")
    key = Event.objects.get().pk

    for page in ("usergroups_event_add", "usergroups_event_delete"):
        address = url(page, *([key] if "delete" in page else []))
        assert admin_client.post(address, {"post": "yes"}).status_code == 403
    log_in_with(client)  # without permissions
    assert client.get(url(LIST)).status_code == 403


def last_events(page, name="events"):
    """Return what the last events on a page did, in words."""
    return [event["description"].partition(" ·")[0] for event in page.context[name]]


def test_pages_show_the_last_events_of_their_row(client, admin_client):
    token = AccessTokenFactory()
    owner = token.user_group
    save(admin_client, owner, name="New")
    act(admin_client, "bookmarks_accesstoken", "revoke", token, AccessTokenFactory())
    api_token = ApiTokenFactory(team=owner.team)
    act(admin_client, "usergroups_apitoken", "revoke", api_token)
    allow_only(client, "bookmarks_bookmark", "view")

    index = admin_client.get(url("index"))
    group = admin_client.get(url("usergroups_usergroup_change", owner.pk))
    team = admin_client.get(url("usergroups_team_change", owner.team_id))
    sent = {"name": "A", "initial-name": "not its name any more"}
    conflict = admin_client.post(url("bookmarks_accesstoken_change", token.pk), sent)

    assert last_events(index) == ["Revoked", "Revoked", "Changed"]
    assert last_events(group) == ["Revoked", "Changed"]
    assert last_events(team) == ["Revoked"]
    assert last_events(conflict, "last_events") == ["Revoked"]
    assert last_events(client.get(url("index"))) == []


def test_a_person_has_one_spelling():
    assert actor_name(User(username="ann", first_name="Ann")) == "Ann (ann)"
    assert actor_name(User(username="ann")) == "ann"
    assert actor_name(None) == ""
