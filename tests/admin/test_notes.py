"""The notes of teams, user groups and tokens, which only operators read."""

import pytest
from django.contrib.admin.models import LogEntry

from tests.admin.actions import act, form_at, url
from tests.bookmarks.factories import AccessTokenFactory
from tests.signals import received
from tests.usergroups.factories import ApiTokenFactory, TeamFactory, UserGroupFactory

pytestmark = pytest.mark.django_db

FACTORIES = {
    "usergroups_team": TeamFactory,
    "usergroups_usergroup": UserGroupFactory,
    "usergroups_apitoken": ApiTokenFactory,
    "bookmarks_accesstoken": AccessTokenFactory,
}


@pytest.mark.parametrize("model", FACTORIES)
def test_operators_edit_notes_and_applications_do_not_learn_of_it(
    admin_client, model, django_capture_on_commit_callbacks
):
    row = FACTORIES[model]()
    address = url(f"{model}_change", row.pk)
    form = {**form_at(admin_client, address), "notes": "Pays late.\r\nCall Anna."}

    with received() as sent, django_capture_on_commit_callbacks(execute=True):
        response = admin_client.post(address, form)

    assert response.status_code == 302
    times = vars(row).get("updated_at")
    row.refresh_from_db()
    assert row.notes == "Pays late.\nCall Anna."
    # The time of a user group is its ETag.
    assert vars(row).get("updated_at") == times
    assert sent == []
    assert LogEntry.objects.get().get_change_message() == "Changed Notes."


@pytest.mark.parametrize("model", FACTORIES)
def test_the_notes_are_not_in_signals(model, django_capture_on_commit_callbacks):
    with received() as sent, django_capture_on_commit_callbacks(execute=True):
        row = FACTORIES[model](notes="Pays late.")
        row.name = "New"
        row.save()
        row.delete()

    of_model = [each for each in sent if each.sender is type(row)]
    assert [each.name for each in of_model] == ["created", "updated", "deleted"]
    assert "notes" not in of_model[1].arguments["fields"]
    for each in of_model:
        [instance] = each.arguments["instances"]
        assert "Pays late." not in vars(instance).values()
    assert of_model[2].arguments["instances"][0].notes == ""


@pytest.mark.parametrize("model", ["usergroups_apitoken", "bookmarks_accesstoken"])
def test_the_successor_of_a_token_has_its_notes(
    admin_client, model, django_capture_on_commit_callbacks
):
    token = FACTORIES[model](notes="Pays late.")

    with received("rotated") as sent, django_capture_on_commit_callbacks(execute=True):
        act(admin_client, model, "rotate", token, grace="0")

    successor = type(token).objects.exclude(pk=token.pk).get()
    assert successor.notes == "Pays late."
    [announced] = sent[0].arguments["successors"]
    assert announced == successor
    assert "notes" not in vars(announced)


def test_notes_have_at_most_2000_characters(admin_client):
    team = TeamFactory()
    address = url("usergroups_team_change", team.pk)

    page = admin_client.post(address, {"name": team.name, "notes": "x" * 2_001})

    assert page.context["adminform"].form.errors.keys() == {"notes"}
