"""The history of a row in the admin has the old and new values of changed
fields, and no secrets.
"""

import html
import json
import re

import pytest
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.auth.models import User
from django.contrib.contenttypes.models import ContentType
from django.forms import CharField

from tests.admin.actions import act, allow_only, form_at, log_in_with, save, url
from tests.bookmarks.factories import BookmarkFactory, CollectionFactory
from tests.queries import queries_of
from tests.usergroups.factories import ApiTokenFactory, TeamFactory, UserGroupFactory
from usergroups.admin import TeamAdmin
from usergroups.admin_tools.forms import OperatorForm
from usergroups.models import UserGroup

pytestmark = pytest.mark.django_db


def history(client, model, row):
    """Return the page with the history of a row."""
    return client.get(url(f"{model}_history", row.pk), follow=True).content.decode()


def values(entry):
    """Return the old and the new value of each changed field."""
    [message] = json.loads(entry.change_message)
    return message["changed"].get("values", {})


@pytest.mark.parametrize(
    ("changes", "message", "kept"),
    [
        ({"name": "New"}, "Changed Name.", {"name": ["A", "New"]}),
        (
            {"properties": '{"b": 2}'},
            "Changed Properties.",
            {"properties": [{"a": 1}, {"b": 2}]},
        ),
        (
            {"name": "New", "mapping": '{"40": "x"}', "properties": ""},
            "Changed Name, Mapping and Properties.",
            {
                "name": ["A", "New"],
                "mapping": [{}, {"40": "x"}],
                "properties": [{"a": 1}, None],
            },
        ),
    ],
)
def test_a_change_keeps_the_old_and_the_new_values(
    admin_client, changes, message, kept
):
    user_group = UserGroupFactory(name="A", properties={"a": 1})

    save(admin_client, user_group, **changes)

    [entry] = LogEntry.objects.all()
    assert entry.get_change_message() == message
    assert values(entry) == kept
    page = history(admin_client, "usergroups_usergroup", user_group)
    assert message in page
    assert user_group.token not in str(LogEntry.objects.values()) + page


def test_the_history_is_shown_newest_first_with_values(admin_client):
    user_group = UserGroupFactory(name="<A>")
    for name in ("B", "C"):
        save(admin_client, user_group, name=name)

    page = history(admin_client, "usergroups_usergroup", user_group)

    assert re.findall(r"<pre[^>]*>(.*?)</pre>", page) == ["B", "C", "&lt;A&gt;", "B"]


class FormWithNote(OperatorForm):
    """The form of a host, with a field that is not one of the model."""

    note = CharField(required=False)


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ({"name": "B", "note": "x"}, {"name": ["A", "B"]}),
        ({"name": "A", "note": "x"}, {}),
    ],
    ids=["both", "only the other"],
)
def test_a_field_of_the_form_alone_is_neither_saved_nor_kept(
    admin_client, monkeypatch, sent, kept
):
    monkeypatch.setattr(TeamAdmin, "form", FormWithNote)
    team = TeamFactory(name="A")

    response = admin_client.post(
        url("usergroups_team_change", team.pk), {**sent, "initial-name": "A"}
    )

    assert response.status_code == 302
    team.refresh_from_db()
    assert team.name == sent["name"]
    assert values(LogEntry.objects.get()) == kept


def test_values_that_are_too_long_are_not_kept(admin_client):
    # over 50,000 characters
    user_group = UserGroupFactory(name="A", properties={"a": "x" * 60_000})

    save(admin_client, user_group, properties="", name="B")

    assert values(LogEntry.objects.get()) == {
        "name": ["A", "B"],
        "properties": [None, None],
    }
    page = history(admin_client, "usergroups_usergroup", user_group)
    assert re.findall(r"<pre[^>]*>(.*?)</pre>", page) == ["A", "B"]


@pytest.mark.parametrize(
    ("before", "change"),
    [
        ({"name": "A"}, {"name": "B"}),
        ({"properties": {"a": 1}}, {"properties": ""}),
        ({"properties": None}, {"properties": '{"a": 1}'}),
        ({"mapping": {"40": 1}}, {"mapping": '{"40": 2}'}),
        ({"mapping": {}}, {"mapping": '{"40": 1}'}),
    ],
)
def test_restoring_fills_the_form_with_the_old_value(admin_client, before, change):
    user_group = UserGroupFactory(**before)
    save(admin_client, user_group, **change)
    [link] = re.findall(
        r'href="([^"]+\?restore=\d+)"',
        history(admin_client, "usergroups_usergroup", user_group),
    )

    form = form_at(admin_client, link)
    admin_client.post(url("usergroups_usergroup_change", user_group.pk), form)

    user_group.refresh_from_db()
    [(name, value)] = before.items()
    assert getattr(user_group, name) == value
    latest = LogEntry.objects.first()
    _, new_value = values(latest)[name]
    assert new_value == value


def restore_links(client):
    """Return the addresses of the links "Restore" in the list of changes."""
    page = client.get(url("admin_logentry_changelist")).content.decode()
    return re.findall(r'href="([^"]+\?restore=\d+)"', page)


def test_a_page_says_what_it_restores_and_restores_it_once(admin_client):
    user_group = UserGroupFactory(name="A", properties={"a": "x" * 3_000})
    save(admin_client, user_group, name="B", properties='{"b": 1}')
    save(admin_client, user_group, properties=json.dumps({"c": "x" * 3_000}))
    link = restore_links(admin_client)[-1]

    plain = admin_client.get(url("usergroups_usergroup_change", user_group.pk))
    restoring = admin_client.get(link).content.decode()
    action = re.search(r'<form action="([^"]*)"', restoring)[1]
    saved = admin_client.post(
        action, {**form_at(admin_client, link), "_continue": "1"}, follow=True
    )

    remark = "Filled in with the former value, and not saved yet: Name, Properties."
    assert remark in restoring
    assert "<details" in plain.content.decode()
    assert "<details" not in restoring
    [(address, _)] = saved.redirect_chain
    assert address == url("usergroups_usergroup_change", user_group.pk)
    assert "Filled in" not in saved.content.decode()
    user_group.refresh_from_db()
    assert user_group.name == "A"


def test_only_who_may_change_an_object_that_exists_can_restore_its_values(
    client, admin_client
):
    kept, deleted = UserGroupFactory.create_batch(2)
    save(admin_client, kept, name="New")
    save(admin_client, deleted, name="New")
    deleted.delete()
    assert len(restore_links(admin_client)) == 1

    allow_only(client, "usergroups_usergroup", "view")
    assert restore_links(client) == []
    address = f"{url('usergroups_usergroup_change', kept.pk)}?restore="
    page = client.get(f"{address}{LogEntry.objects.last().pk}")

    assert "Filled in" not in page.content.decode()


def test_changes_are_filtered_by_user_without_the_permission_to_view_accounts(
    client, admin_client, admin_user, user_group
):
    save(admin_client, user_group, name="Renamed")
    second = User.objects.create_superuser("second")
    admin_client.force_login(second)
    save(admin_client, user_group, name="Renamed again")
    address = url("admin_logentry_changelist")
    offers_accounts = 'data-model-name="logentry"'
    assert offers_accounts in admin_client.get(address).content.decode()

    allow_only(client, "usergroups_usergroup", "view")
    page = client.get(address).content.decode()
    query = f"?user__id__exact={admin_user.pk}"
    filtered = client.get(address + query)

    assert offers_accounts not in page
    assert f'<a href="{query}">admin</a>' in page
    assert [entry.user for entry in filtered.context["cl"].result_list] == [admin_user]


def test_a_restored_value_does_not_replace_what_was_saved_since(admin_client):
    user_group = UserGroupFactory(name="A")
    save(admin_client, user_group, name="B")
    address = url("usergroups_usergroup_change", user_group.pk)
    form = form_at(admin_client, f"{address}?restore={LogEntry.objects.get().pk}")
    UserGroup.objects.filter(pk=user_group.pk).update(name="C")

    page = admin_client.post(address, form)

    assert "It is now “C”." in page.content.decode()
    user_group.refresh_from_db()
    assert user_group.name == "C"


def test_a_collection_is_restored(admin_client):
    bookmark = BookmarkFactory()
    collection = CollectionFactory(user_group=bookmark.user_group, name="Shelf")
    address = url("bookmarks_bookmark_change", bookmark.pk)
    for old, new in (("", collection.pk), (collection.pk, "")):
        admin_client.post(address, {"initial-collection": old, "collection": new})

    page = history(admin_client, "bookmarks_bookmark", bookmark)
    link = re.search(r'href="([^"]+\?restore=\d+)"', page)[1]

    assert "Shelf" in page
    assert admin_client.get(link).context["adminform"].form.initial[
        "collection"
    ] == str(collection.pk)


@pytest.mark.parametrize("key", ["0", "x", "9" * 30, "of the other group"])
def test_an_entry_of_another_row_or_none_restores_nothing(admin_client, key):
    user_group = UserGroupFactory(name="A")
    other = UserGroupFactory(name="Foreign")
    save(admin_client, other, name="B")
    key = key.replace("of the other group", str(LogEntry.objects.get().pk))

    page = admin_client.get(
        f"{url('usergroups_usergroup_change', user_group.pk)}?restore={key}"
    )

    assert page.context["adminform"].form["name"].value() == "A"


def changed_objects(client, **query):
    """Return the names of the objects in the list of changes with this query."""
    page = client.get(url("admin_logentry_changelist"), query)
    return [entry.object_repr for entry in page.context["cl"].result_list]


def test_all_changes_are_listed_also_of_deleted_objects(
    admin_client, admin_user, django_user_model
):
    user_group = UserGroupFactory(name="Kept")
    token = ApiTokenFactory(name="CI")
    team = TeamFactory(name="Gone")
    save(admin_client, user_group, name="Renamed")
    act(admin_client, "usergroups_team", "delete_selected", team, name="Gone")
    admin_client.force_login(django_user_model.objects.create_superuser("second"))
    act(admin_client, "usergroups_apitoken", "revoke", token)
    renamed = str(UserGroup.objects.get(name="Renamed"))

    page = admin_client.get(url("admin_logentry_changelist")).content.decode()

    assert changed_objects(admin_client) == [str(token), "Gone", renamed]
    assert changed_objects(admin_client, user__id__exact=admin_user.pk) == [
        "Gone",
        renamed,
    ]
    kind = ContentType.objects.get_for_model(UserGroup)
    assert changed_objects(admin_client, content_type=kind.pk) == [renamed]
    assert changed_objects(admin_client, action_flag__exact="3") == ["Gone"]
    assert changed_objects(admin_client, q="gon") == ["Gone"]
    assert (
        changed_objects(admin_client, action_time__gte="2999-01-01 00:00:00+00:00")
        == []
    )
    assert "<summary>Name</summary>" in page
    assert f'href="{url("usergroups_usergroup_change", user_group.pk)}"' in page
    assert url("usergroups_team_change", team.pk) not in page
    assert (
        url("admin_logentry_changelist")
        in admin_client.get(url("index")).content.decode()
    )


def test_changes_are_read_only_and_listed_if_the_operator_may_view_their_model(
    client, admin_client, user_group
):
    save(admin_client, user_group, name="Renamed")
    act(admin_client, "usergroups_apitoken", "revoke", ApiTokenFactory())
    entry = LogEntry.objects.last()
    allow_only(client, "usergroups_usergroup", "view")

    assert len(changed_objects(client)) == 1
    for page in (url("admin_logentry_add"), url("admin_logentry_delete", entry.pk)):
        assert admin_client.get(page).status_code == 403
        assert admin_client.post(page, {"post": "yes"}).status_code == 403
    changed = admin_client.post(url("admin_logentry_change", entry.pk))
    assert changed.status_code == 403
    log_in_with(client)  # without permissions
    assert client.get(url("admin_logentry_changelist")).status_code == 403


def test_the_list_of_changes_takes_the_same_queries_for_few_and_for_many(
    admin_client, user_group
):
    address = url("admin_logentry_changelist")
    numbers = []
    for _ in range(3):  # The first round caches the content types.
        for number in range(5):
            save(admin_client, user_group, name=f"{number} {len(numbers)}")
        numbers.append(len(queries_of(admin_client.get, address)))

    # Session and user, the count, the changes with their operators, and which
    # of the user groups still exist, so that their values can be restored.
    assert numbers[1:] == [5, 5]


@pytest.mark.parametrize("message", ["[urgent] Renamed", "[1, 2]", '"text"', "{}"])
def test_a_message_of_another_app_is_shown_as_it_is(admin_client, user_group, message):
    kind = ContentType.objects.get_for_model(UserGroup)
    LogEntry.objects.create(
        user=User.objects.get(),
        content_type=kind,
        object_id=user_group.pk,
        object_repr="A",
        action_flag=CHANGE,
        change_message=message,
    )

    page = history(admin_client, "usergroups_usergroup", user_group)

    assert f"{html.escape(message)} </td>" in page
    assert html.escape(message) in admin_client.get(url("index")).content.decode()


def test_the_key_of_a_changed_object_is_quoted_in_links(admin_client):
    """Keys of a host's models may be any text, such as a path."""
    kind = ContentType.objects.get_for_model(UserGroup)
    LogEntry.objects.create(
        user=User.objects.get(),
        content_type=kind,
        object_id="a/b",
        object_repr="A",
        action_flag=CHANGE,
        change_message="Changed.",
    )

    page = admin_client.get(url("admin_logentry_changelist")).content.decode()

    assert 'href="/admin/usergroups/usergroup/a_2Fb/change/"' in page


def test_failed_actions_are_not_logged(admin_client):
    token = ApiTokenFactory(revoked=True)
    admin_client.post(url("usergroups_team_add"), {"name": ""})
    act(admin_client, "usergroups_apitoken", "revoke", token)
    act(admin_client, "usergroups_apitoken", "rotate", token, grace="24")

    assert not LogEntry.objects.exists()
