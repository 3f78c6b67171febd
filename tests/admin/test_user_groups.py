"""User groups in the admin, and their tokens.

The fixture ``everything`` is a dict with an object of each model.
"""

import html
import json
import re

import pytest
from django.contrib.admin.models import LogEntry
from django.db import IntegrityError

from tests.admin.actions import (
    allow_only,
    confirm,
    log_in_with,
    open_confirmation,
    open_confirmation_on_page,
    save,
    shown_form,
    url,
)
from tests.queries import queries_of
from tests.signals import recorded
from tests.usergroups.factories import TeamFactory, UserGroupFactory
from usergroups.events import Event
from usergroups.models import Team, UserGroup

pytestmark = pytest.mark.django_db

EXACT = {
    "properties": (
        '{"z": 1, "a": [1e23, 12345678901234567890123, 1.0, true, null], "😀": '
        '{"\\u00e9": "  "}}'
    ),
    "mapping": '{"40": "warehouse_eu", "7": 12345678901234567890123}',
}
"""JSON whose numbers, order of keys and characters must not be changed."""


@pytest.mark.parametrize("field", EXACT)
def test_json_is_stored_exactly_as_it_was_entered(admin_client, field):
    user_group = UserGroupFactory()

    save(admin_client, user_group, **{field: EXACT[field]})

    user_group.refresh_from_db()
    expected = json.dumps(json.loads(EXACT[field]))
    assert json.dumps(getattr(user_group, field)) == expected
    assert (
        LogEntry.objects.get().get_change_message() == f"Changed {field.capitalize()}."
    )


def test_json_is_shown_indented(admin_client):
    user_group = UserGroupFactory(properties={"ключ": {"a": 1}}, mapping={})

    form = shown_form(admin_client, user_group)

    assert form["properties"] == '{\n  "ключ": {\n    "a": 1\n  }\n}'
    assert form["mapping"] == ""


def test_saving_an_unchanged_form_changes_nothing(admin_client):
    user_group = UserGroupFactory(
        properties=json.loads(EXACT["properties"]), mapping=json.loads(EXACT["mapping"])
    )

    save(admin_client, user_group)

    assert UserGroup.objects.get().updated_at == user_group.updated_at


@pytest.mark.parametrize(
    ("sent", "stored", "is_change"),
    [
        ('{"a": true, "b": 2}', '{"a": true, "b": 2}', True),
        ('{"b": 2, "a": 1}', '{"a": 1, "b": 2}', False),
    ],
    ids=["a number becomes a boolean", "another order of keys"],
)
def test_json_is_compared_as_in_a_call(admin_client, sent, stored, is_change):
    user_group = UserGroupFactory(properties={"a": 1, "b": 2})

    save(admin_client, user_group, properties=sent)

    changed = UserGroup.objects.get()
    assert json.dumps(changed.properties) == stored
    assert (changed.updated_at != user_group.updated_at) is is_change


@pytest.mark.parametrize("nothing", ["", "  ", "null"])
def test_json_can_be_emptied(admin_client, nothing):
    user_group = UserGroupFactory(properties={"a": 1}, mapping={"40": "a"})

    save(admin_client, user_group, properties=nothing, mapping=nothing)

    user_group.refresh_from_db()
    assert (user_group.properties, user_group.mapping) == (None, {})


BAD = {
    "properties": [
        "[]",
        "{",
        '{"a": NaN}',
        '{"a": 1e400}',
        '{"a": "\\u0000"}',
        '{"a": "\\ud800"}',
        '{"a": ' + "[" * 63 + "]" * 63 + "}",
        "\u00a0{}",
    ],
    "mapping": ["[]", '{"40": 1.5}', '{"40": ""}', '{"40": "' + "a" * 256 + '"}', "{"],
}
"""Invalid JSON, by field.

At most 64 levels are allowed, of which the body of a call is the first.
tests/usergroups has the others.
"""


@pytest.mark.parametrize(
    ("field", "text"), [(field, text) for field, texts in BAD.items() for text in texts]
)
def test_invalid_json_is_refused_as_in_a_call(
    admin_client, update_user_group, user_group, field, text
):
    body = f'{{"user_group_id": "{user_group.provided_id}", "{field}": {text}}}'
    called = update_user_group(body.encode())
    page = save(admin_client, user_group, **{field: text})

    assert called.status_code == 400
    [problem] = called.json()["errors"]
    [error] = page.context["adminform"].errors[field]
    if problem["code"] != "parse_error":  # which is about the whole body of the call
        # "attr" is the field, or the path to a key such as "mapping.40", which
        # the form shows.
        _, _, key = problem["attr"].partition("mapping.")
        assert error == (f"{key}: " if key else "") + problem["detail"]
    assert text in page.context["adminform"].form[field].value()
    user_group.refresh_from_db()
    assert (user_group.properties, user_group.mapping) == (None, {})


def test_the_place_of_an_error_is_named(admin_client, user_group):
    page = save(admin_client, user_group, properties='{"a": 1,\n "b" 2}')

    problem = "Line 2 is not valid JSON at character 6."
    assert page.context["adminform"].errors == {"properties": [problem]}


def sent_again(page):
    """Return the data of the form on a page, as a browser sends it."""
    form = page.context["adminform"].form
    inputs = re.findall(
        r'<input type="hidden" name="([\w-]+)" value="([^"]*)"', page.content.decode()
    )
    return {
        **{name: form[name].value() for name in form.fields},
        **{name: html.unescape(text) for name, text in inputs},
    }


@pytest.mark.parametrize(
    "model", ["usergroups_team", "usergroups_apitoken", "bookmarks_collection"]
)
def test_a_name_that_somebody_else_changed_is_not_overwritten_by_any_form(
    admin_client, everything, model
):
    row = everything[model]
    type(row).objects.filter(pk=row.pk).update(name="First")

    # the name that ``everything`` gives the row
    sent = {"name": "Second", "initial-name": "Findable"}
    refused = admin_client.post(url(f"{model}_change", row.pk), sent)

    assert "It is now “First”." in str(refused.context["adminform"].errors["name"])
    row.refresh_from_db()
    assert row.name == "First"


def test_a_token_is_rotated_after_confirmation(admin_client, caplog):
    user_group, other = UserGroupFactory.create_batch(2)

    page = open_confirmation_on_page(
        admin_client, "usergroups_usergroup", "rotate_token", user_group
    )
    assert "Dashboards that use the old token stop working." in page.content.decode()
    assert UserGroup.objects.get(pk=user_group.pk).token == user_group.token
    done = confirm(admin_client, page)
    assert "The dashboard token of <a href=" in done.content.decode()

    rotated = UserGroup.objects.get(pk=user_group.pk)
    assert rotated.token != user_group.token
    assert UserGroup.objects.get(pk=other.pk).token == other.token
    [entry] = LogEntry.objects.all()
    assert entry.get_change_message() == "Rotated."
    stored = str([LogEntry.objects.values().get(), Event.objects.values().get()])
    for token in (rotated.token, user_group.token):
        assert token not in stored + caplog.text


def test_json_is_shown_without_permission_to_change(client):
    user_group = UserGroupFactory(properties={"<b>": {"a": 1}}, mapping={"40": "a"})
    allow_only(client, "usergroups_usergroup", "view")
    address = url("usergroups_usergroup_change", user_group.pk)

    page = client.get(address, {"edit": 1}).content.decode()

    pattern = r'field-(mapping|properties)">.*?<div class="readonly">(.*?)</div>'
    shown = re.findall(pattern, page, re.DOTALL)
    assert {name: html.unescape(text) for name, text in shown} == {
        "mapping": '{"40": "a"}',
        "properties": '{"<b>": {"a": 1}}',
    }


def test_the_team_the_environment_and_the_id_cannot_be_changed(admin_client):
    user_group = UserGroupFactory()
    foreign = {
        "team": UserGroupFactory().team.pk,
        "environment": "Testing",
        "provided_id": "other",
        "token": "x",
    }

    save(admin_client, user_group, **foreign, mapping='{"40": 1}')

    changed = UserGroup.objects.get(pk=user_group.pk)
    assert changed.mapping == {"40": 1}
    for field in ("team", "environment", "provided_id", "token"):
        assert getattr(changed, field) == getattr(user_group, field)


@pytest.mark.parametrize("environment", ["", "Testing"])
def test_groups_are_filtered_by_environment_or_none(admin_client, environment):
    groups = {each: UserGroupFactory(environment=each) for each in ("", "Testing")}
    query = f"?environment__exact={environment}"

    page = admin_client.get(url("usergroups_usergroup_changelist") + query)

    assert list(page.context["cl"].queryset) == [groups[environment]]
    chosen = f'<a href="{query}" aria-current="true">{environment or "No environment"}'
    assert chosen in page.content.decode()


TAKEN = "Team with this name already exists."


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("acme", TAKEN),
        (" Acme ", TAKEN),
        ("\N{IDEOGRAPHIC SPACE}acme\N{NO-BREAK SPACE}\t", TAKEN),
        ("  ", "This field is required."),
    ],
)
def test_a_team_whose_name_looks_like_another_is_refused(admin_client, name, problem):
    TeamFactory(name="Acme")

    page = admin_client.post(url("usergroups_team_add"), {"name": name})

    assert page.context["errors"] == [[problem]]


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("", "This field is required."),
        ("acme <b>", "This is another name."),
        ("Acme <b> ", None),
    ],
)
def test_a_team_is_deleted_after_its_name_was_typed(admin_client, name, problem):
    team = TeamFactory(name="Acme <b>")
    page = admin_client.get(url("usergroups_team_delete", team.pk))
    content = page.content.decode()
    assert "To confirm, type “Acme &lt;b&gt;”." in content
    assert 'value="Delete 1 team" class="button irreversible"' in content
    assert str(team) not in content

    answer = confirm(admin_client, page, name=name)

    is_deleted = not Team.objects.exists()
    assert is_deleted == (problem is None)
    assert (problem or "Deleted 1 team.") in answer.content.decode()


def test_several_teams_are_not_deleted_at_once(admin_client):
    teams = TeamFactory.create_batch(2)

    page = open_confirmation(admin_client, "usergroups_team", "delete_selected", *teams)

    assert page.context["form"].refusals == ["Delete them one at a time."]


def test_the_database_refuses_two_names_that_look_alike():
    TeamFactory(name="Acme")

    with pytest.raises(IntegrityError):
        TeamFactory(name=" aCME ")


def test_the_autocompletion_distinguishes_groups_with_the_same_name(admin_client):
    acme = TeamFactory(name="Acme")
    other = TeamFactory(name="Other")
    for team, environment in ((acme, ""), (acme, "Testing"), (other, "")):
        UserGroupFactory(team=team, environment=environment, provided_id="7", name="A")
    field = "app_label=bookmarks&model_name=bookmark&field_name=user_group"
    address = f"{url('autocomplete')}?{field}&term="

    offered = {row["text"] for row in admin_client.get(address).json()["results"]}

    assert offered == {"A (Acme, 7)", "A (Acme, Testing, 7)", "A (Other, 7)"}
    # Session, user, the count, and the rows with their teams.
    assert len(queries_of(admin_client.get, address)) == 4


def test_a_name_that_a_caller_changed_meanwhile_is_kept_and_is_in_the_history_and_the_signal(
    admin_client,
):
    user_group = UserGroupFactory(name="Old name", mapping={"40": 1})
    form = {**shown_form(admin_client, user_group), "properties": '{"a": 2}'}
    UserGroup.objects.update_by_provided_id(
        user_group.provided_id, user_group.scope, name="New name"
    )
    address = url("usergroups_usergroup_change", user_group.pk)

    with recorded() as sent:
        page = admin_client.post(address, form, follow=True)

    user_group.refresh_from_db()
    assert (user_group.name, user_group.properties) == ("New name", {"a": 2})
    assert user_group.mapping == {"40": 1}
    assert "Old name" not in page.content.decode()
    assert Event.objects.get().text.startswith("New name")
    [(_, _, arguments)] = sent
    assert arguments["instances"][0].name == "New name"
    assert arguments["fields"] == {"properties"}


def test_json_that_a_caller_changed_is_not_overwritten(admin_client):
    user_group = UserGroupFactory(properties={"a": 1})
    form = shown_form(admin_client, user_group)
    UserGroup.objects.update_by_provided_id(
        user_group.provided_id, user_group.scope, properties={"a": True}
    )
    address = url("usergroups_usergroup_change", user_group.pk)

    page = admin_client.post(address, {**form, "properties": '{"a": 2}'})

    [error] = page.context["adminform"].errors["properties"]
    assert error.endswith('It is now “{\n  "a": true\n}”. Save again to replace it.')
    assert page.context["adminform"].form["properties"].value() == '{"a": 2}'
    user_group.refresh_from_db()
    assert user_group.properties == {"a": True}
    admin_client.post(address, sent_again(page))
    user_group.refresh_from_db()
    assert user_group.properties == {"a": 2}


def test_a_group_with_large_properties_can_be_renamed(admin_client):
    # almost 1 MiB as compact JSON, the most that a call can send by default
    properties = {"a": "x" * 1_000_000}
    user_group = UserGroupFactory(properties=properties)

    assert save(admin_client, user_group, name="New").status_code == 302

    user_group.refresh_from_db()
    assert (user_group.name, user_group.properties) == ("New", properties)


@pytest.mark.parametrize(
    "model", ["usergroups_usergroup", "bookmarks_accesstoken", "bookmarks_bookmark"]
)
def test_lists_do_not_load_mapping_and_properties(admin_client, everything, model):
    queries = queries_of(admin_client.get, url(f"{model}_changelist"))

    assert not any('"properties"' in sql or '"mapping"' in sql for sql in queries)


REVEAL = f"{url('usergroups_usergroup_confirm')}?action=reveal_token"


def reveal(client, user_group):
    return client.post(REVEAL, {"confirmed": user_group.pk})


def test_no_page_contains_the_token_before_it_is_revealed(admin_client, user_group):
    change = url("usergroups_usergroup_change", user_group.pk)
    model = "usergroups_usergroup"
    for page in (
        admin_client.get(change),
        admin_client.post(change, {"name": ""}),
        admin_client.get(url(f"{model}_changelist")),
        admin_client.get(url(f"{model}_delete", user_group.pk)),
        admin_client.get(url(f"{model}_history", user_group.pk), follow=True),
        open_confirmation(admin_client, model, "rotate_token", user_group),
        open_confirmation(admin_client, model, "reveal_token", user_group),
        open_confirmation(admin_client, model, "delete_selected", user_group),
        admin_client.get(url("index")),
    ):
        assert page.status_code == 200
        assert user_group.token not in page.content.decode()


def test_a_revealed_token_is_in_the_response_only_and_in_the_history(
    admin_client, user_group, caplog
):
    response = reveal(admin_client, user_group)

    assert f">{user_group.token}</code>" in response.content.decode()
    assert response.content.decode().count(user_group.token) == 1
    assert "no-store" in response["Cache-Control"]
    assert Event.objects.get().kind == "revealed"
    stored = (
        LogEntry.objects.values().get(),
        Event.objects.values().get(),
        dict(admin_client.session),
        response.cookies,
        caplog.text,
    )
    assert user_group.token not in str(stored)


@pytest.mark.parametrize("method", ["get", "head"])
def test_opening_the_address_reveals_nothing(admin_client, user_group, method):
    response = getattr(admin_client, method)(f"{REVEAL}&keys={user_group.pk}")

    assert response.status_code == 200
    assert user_group.token not in response.content.decode()
    assert not LogEntry.objects.exists()


@pytest.mark.parametrize(
    ("codenames", "status"),
    [
        (["view_usergroup", "reveal_usergroup_token"], 200),
        (["change_usergroup", "reveal_usergroup_token"], 200),
        (["view_usergroup", "change_usergroup"], 403),
        (["reveal_usergroup_token"], 403),
    ],
)
def test_revealing_requires_its_permission_and_the_permission_to_view(
    client, user_group, codenames, status
):
    log_in_with(client, *codenames)

    response = reveal(client, user_group)
    address = url("usergroups_usergroup_change", user_group.pk)
    page = client.get(address).content.decode()

    assert response.status_code == status
    assert (user_group.token in response.content.decode()) == (status == 200)
    assert ("Reveal" in page) == (status == 200)
    assert Event.objects.filter(kind="revealed").exists() == (status == 200)


@pytest.mark.parametrize(
    ("name", "sent", "saved"),
    [("a\nb", "ab", "a\nb"), ("a\r\nb", "ab", "a\r\nb"), ("\n", "x", "x")],
)
def test_line_breaks_in_an_unedited_name_are_kept(admin_client, name, sent, saved):
    """A browser sends the name without them.

    The last name must be edited, because a form refuses an empty one.
    """
    user_group = UserGroupFactory(name=name)

    save(admin_client, user_group, name=sent, mapping='{"40": 1}')

    user_group.refresh_from_db()
    assert user_group.name == saved
    assert user_group.mapping == {"40": 1}
