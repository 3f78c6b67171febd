"""The rules for all signals.

``tests/bookmarks/test_signals.py`` has the signals of each write.
"""

import pytest
from django.core.management import call_command
from django.db import transaction

from tests.signals import expected, received, recorded
from tests.usergroups.factories import TeamFactory, UserGroupFactory
from usergroups import signals
from usergroups.models import Team, UserGroup
from usergroups.signals import acting_as

pytestmark = pytest.mark.django_db

# Django's own methods


def test_a_save_is_announced_with_the_fields_that_can_be_edited(user_group):
    with recorded() as sent:
        user_group.save()
        user_group.save(update_fields=["name", "team_id", "updated_at"])
        user_group.save(update_fields=["updated_at"])

    every_field = {
        "team",
        "environment",
        "provided_id",
        "name",
        "mapping",
        "properties",
    }
    assert sent == [
        expected("updated", user_group, fields=every_field),
        expected("updated", user_group, fields={"name", "team"}),
    ]


def test_bulk_methods_of_django_send_nothing(user_group):
    with recorded() as sent:
        UserGroup.objects.update(name="New")
        UserGroup.objects.bulk_create(
            [UserGroup(team=user_group.team, provided_id="b", name="B")]
        )
        UserGroup.objects.bulk_update([user_group], ["name"])

    assert sent == []


def test_methods_of_django_are_announced():
    with recorded() as sent:
        team = Team.objects.create(name="A")
        Team.objects.update_or_create(name="A", defaults={"name": "B"})
        UserGroupFactory(team=team)
        team.delete()

    assert [(name, model) for name, model, _ in sent] == [
        ("created", Team),
        ("updated", Team),
        ("created", UserGroup),
        ("deleted", Team),  # and nothing about the user group that is deleted with it
    ]


# Transactions


@pytest.mark.django_db(transaction=True)
def test_signals_are_sent_after_the_commit_in_the_order_of_the_writes():
    with received() as sent:
        with transaction.atomic():
            team = Team.objects.create(name="Acme")
            scope = {"team_id": team.pk, "environment": ""}
            group, _ = UserGroup.objects.get_or_add("a", scope, fields={})
            UserGroup.objects.update_by_provided_id("a", scope, name="New")
            sent_before_the_commit = list(sent)

        assert sent_before_the_commit == []
        assert sent == [
            expected("created", team),
            expected("created", group),
            expected("updated", group, fields={"name"}),
        ]
        assert [arguments["instances"][0].name for _, _, arguments in sent] == [
            "Acme",
            "a",
            "New",
        ]


@pytest.mark.django_db(transaction=True)
def test_a_rolled_back_write_sends_nothing(user_group):
    with received() as sent, transaction.atomic():
        UserGroup.objects.update_by_provided_id(
            user_group.provided_id,
            {"team_id": user_group.team_id, "environment": ""},
            name="New",
        )
        user_group.delete()
        transaction.set_rollback(True)

    assert sent == []
    assert UserGroup.objects.get().name == user_group.name


# Actors


def test_a_host_can_name_the_actor():
    with recorded() as sent:
        with acting_as("outer"):
            with acting_as("inner"):
                first = TeamFactory()
            second = TeamFactory()
        third = TeamFactory()

    assert sent == [
        expected("created", first, actor="inner"),
        expected("created", second, actor="outer"),
        expected("created", third, actor=None),
    ]


# Receivers


@pytest.mark.django_db(transaction=True)
def test_a_failing_receiver_is_logged_and_breaks_nothing(
    call_usergroups, caplog, request
):
    def fail(**kwargs):
        raise RuntimeError("The receiver failed.")

    signals.created.connect(fail)
    request.addfinalizer(lambda: signals.created.disconnect(fail))

    with received("created") as sent_to_others:
        response = call_usergroups("POST", "user", {"user_group_id": "new"})

    [record] = [record for record in caplog.records if record.name == "django.dispatch"]
    assert response.status_code == 201
    assert record.exc_info
    assert len(sent_to_others) == 1


def test_rows_of_a_fixture_are_announced_as_raw(user_group, tmp_path):
    fixture = tmp_path / "groups.json"
    call_command("dumpdata", "usergroups.usergroup", output=str(fixture))

    with recorded() as sent:
        call_command("loaddata", str(fixture), verbosity=0)

    [updated] = sent
    assert updated.name == "updated"
    assert updated.arguments["instances"] == [user_group]
    assert updated.arguments["raw"] is True
