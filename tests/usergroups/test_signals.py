"""The signals about teams, user groups and tokens, and what holds for all signals."""

import pickle
import threading
from copy import copy
from datetime import timedelta
from functools import partial
from io import StringIO

import pytest
from django.core.management import call_command
from django.db import transaction
from django.db.models import Count
from django.test import TestCase

from tests.queries import queries_of
from tests.signals import expected, received, recorded
from tests.usergroups.factories import ApiTokenFactory, TeamFactory, UserGroupFactory
from usergroups import signals, transactions
from usergroups.models import ApiToken, Team, UserGroup
from usergroups.signals import acting_as

pytestmark = pytest.mark.django_db


@pytest.fixture
def receiver(request):
    """Return a function that connects a receiver to a signal until the test ends."""

    def connect(signal, function, sender=None):
        signal.connect(function, sender, weak=False)
        request.addfinalizer(lambda: signal.disconnect(function, sender))

    return connect


# User groups


def test_a_created_group_is_announced(call_usergroups, api_token):
    with recorded() as sent:
        call_usergroups("POST", "user", {"user_group_id": "new", "name": "New"})

    group = UserGroup.objects.get(provided_id="new")
    assert sent == [expected("created", group, actor=api_token)]
    assert sent[0][2]["instances"][0].name == "New"


def test_an_existing_group_is_not_announced(call_usergroups, user_group):
    with recorded() as sent:
        call_usergroups("POST", "user", {"user_group_id": user_group.provided_id, "name": "New"})

    assert sent == []


def test_an_update_is_announced_with_the_written_fields(update_user_group, user_group, api_token):
    with recorded() as sent:
        update_user_group({"user_group_id": user_group.provided_id, "name": "New", "mapping": {"40": 1}})

    assert sent == [expected("updated", user_group, actor=api_token, fields={"name", "mapping"})]
    [group] = sent[0][2]["instances"]
    assert (group.name, group.mapping) == ("New", {"40": 1})


def test_an_update_without_fields_is_not_announced(update_user_group, user_group):
    with recorded() as sent:
        update_user_group({"user_group_id": user_group.provided_id})

    assert sent == []


def test_an_update_of_another_version_is_not_announced(update_user_group, user_group):
    body = {"user_group_id": user_group.provided_id, "name": "New"}

    with recorded() as sent:
        response = update_user_group(body, HTTP_IF_MATCH='"0"')

    assert response.status_code == 412
    assert sent == []


def test_a_deleted_group_is_announced_with_its_values(call_usergroups, user_group, api_token):
    with recorded() as sent:
        call_usergroups("DELETE", "user", query={"user_group_id": user_group.provided_id})

    assert sent == [expected("deleted", user_group, actor=api_token)]
    assert sent[0][2]["instances"][0].name == user_group.name


def test_a_new_user_group_token_is_announced_as_a_rotation(call_usergroups, user_group, api_token):
    with recorded() as sent:
        call_usergroups("POST", "user-token", {"user_group_id": user_group.provided_id})

    assert sent == [expected("rotated", user_group, actor=api_token)]
    user_group.refresh_from_db()
    assert sent[0][2]["instances"][0].token == user_group.token


def test_a_batch_sends_a_signal_for_each_set_of_fields(call_usergroups, user_group, api_token):
    first, second, third = UserGroupFactory.create_batch(3, team=user_group.team)
    items = [
        {"user_group_id": "new", "name": "New"},
        {"user_group_id": first.provided_id, "name": "First"},
        {"user_group_id": second.provided_id, "name": "Second"},
        {"user_group_id": third.provided_id, "mapping": {"1": "x"}},
        {"user_group_id": user_group.provided_id},
        {"user_group_id": ""},
    ]

    with recorded() as sent:
        call_usergroups("POST", "users-batch", {"user_groups": items})

    new = UserGroup.objects.get(provided_id="new")
    by_name = sorted(sent, key=lambda each: (each[0], len(each[2]["instances"])))
    [names] = [arguments["instances"] for _, _, arguments in sent if arguments.get("fields") == {"name"}]
    assert by_name == [
        expected("created", new, actor=api_token),
        expected("updated", third, actor=api_token, fields={"mapping"}),
        expected("updated", *names, actor=api_token, fields={"name"}),
    ]
    assert {group.name for group in names} == {"First", "Second"}


# Tokens


def test_an_issued_token_is_announced():
    with recorded() as sent:
        token, _ = ApiToken.objects.issue(team=TeamFactory())

    assert sent == [expected("created", token.team), expected("created", token)]


def test_a_rotation_announces_the_old_token_and_its_successor():
    token = ApiTokenFactory()

    with recorded() as sent:
        successor, _ = token.rotate(timedelta())

    assert sent == [expected("created", successor), expected("rotated", token, successors=[successor])]
    [old] = sent[1][2]["instances"]
    assert not old.is_active
    assert old.rotated_at is not None


def test_only_the_first_revocation_is_announced():
    token = ApiTokenFactory()

    with recorded() as sent:
        token.revoke()
        token.revoke()

    assert sent == [expected("revoked", token)]
    assert not sent[0][2]["instances"][0].is_active


def test_a_saved_last_use_is_not_announced(update_user_group, api_token):
    ApiToken.objects.update(last_used_at=None)

    with recorded() as sent:
        update_user_group({})

    api_token.refresh_from_db()
    assert api_token.last_used_at is not None
    assert sent == []


def test_no_argument_contains_a_secret():
    with recorded() as sent:
        issued, issued.secret = ApiToken.objects.issue(team=TeamFactory())
        successor, successor.secret = ApiToken.objects.get().rotate(timedelta())
        ApiToken.objects.get(pk=successor.pk).revoke()
        ApiToken.objects.all().delete()

    assert [name for name, _, _ in sent] == ["created", "created", "created", "rotated", "revoked", "deleted"]
    for secret in (issued.secret, successor.secret):
        assert secret.encode() not in pickle.dumps([arguments for _, _, arguments in sent])
        assert secret not in repr(sent)


# Commands


def test_commands_announce_what_they_create():
    with recorded() as sent:
        call_command("create_team", "Acme", stdout=StringIO(), stderr=StringIO())
        call_command("create_user_group", team="Acme", user_group="a", name="A", stderr=StringIO())
        call_command("create_api_token", team="Beta", create_team=True, stdout=StringIO(), stderr=StringIO())

    acme, beta = Team.objects.order_by("name")
    assert sent == [
        expected("created", acme),
        expected("created", UserGroup.objects.get()),
        expected("created", beta),
        expected("created", ApiToken.objects.get()),
    ]


@pytest.fixture
def sync(user_group, tmp_path):
    """Return a function that calls the command with a file that has a changed and a new group."""
    path = tmp_path / "groups.jsonl"
    path.write_text(f'{{"user_group_id": "{user_group.provided_id}", "name": "A"}}\n{{"user_group_id": "new"}}\n')

    def call(**options):
        call_command("sync_user_groups", str(path), team=user_group.team.name, stdout=StringIO(), **options)

    return call


def test_a_synchronization_is_announced(sync, user_group):
    with recorded() as sent:
        sync()

    new = UserGroup.objects.get(provided_id="new")
    assert sent == [expected("created", new), expected("updated", user_group, fields={"name"})]


def test_a_dry_run_is_not_announced(sync):
    with recorded() as sent:
        sync(dry_run=True)

    assert sent == []


# Django's own methods


def test_a_save_is_announced_with_the_fields_that_can_be_edited(user_group):
    with recorded() as sent:
        user_group.save()
        user_group.save(update_fields=["name", "team_id", "updated_at"])
        user_group.save(update_fields=["updated_at"])

    every_field = {"team", "environment", "provided_id", "name", "mapping", "properties"}
    assert sent == [
        expected("updated", user_group, fields=every_field),
        expected("updated", user_group, fields={"name", "team"}),
    ]


def test_methods_of_django_that_create_or_update_are_announced():
    with recorded() as sent:
        team = Team.objects.create(name="A")
        Team.objects.get_or_create(name="A")
        other, _ = Team.objects.get_or_create(name="B")
        Team.objects.update_or_create(name="B", defaults={"name": "C"})

    assert sent == [
        expected("created", team),
        expected("created", other),
        expected("updated", other, fields={"name"}),
    ]


def test_bulk_methods_of_django_send_nothing(user_group):
    with recorded() as sent:
        UserGroup.objects.update(name="New")
        UserGroup.objects.bulk_create([UserGroup(team=user_group.team, provided_id="b", name="B")])
        UserGroup.objects.bulk_update([user_group], ["name"])

    assert sent == []


@pytest.mark.parametrize("factory", [TeamFactory, UserGroupFactory, ApiTokenFactory])
def test_deletions_of_instances_and_querysets_are_announced(factory):
    first, second, third = factory.create_batch(3)

    expected_signals = [expected("deleted", copy(first)), expected("deleted", second, third)]

    with recorded() as sent:
        first.delete()
        type(second).objects.filter(pk__in=[second.pk, third.pk]).delete()

    assert sent == expected_signals


def test_a_deletion_is_announced_without_the_dependants():
    token = ApiTokenFactory()
    UserGroupFactory(team=token.team)

    with recorded() as sent:
        token.team.delete()

    assert sent == [expected("deleted", token.team)]
    assert not UserGroup.objects.exists()


# Transactions


@pytest.mark.django_db(transaction=True)
def test_signals_are_sent_after_the_commit_in_the_order_of_the_writes():
    with received() as sent:
        with transaction.atomic():
            team = Team.objects.create(name="Acme")
            group, _ = UserGroup.objects.get_or_add("a", {"team_id": team.pk, "environment": ""}, {})
            UserGroup.objects.filter(team=team).change("a", name="New")
            before = list(sent)

        assert before == []
        assert sent == [
            expected("created", team),
            expected("created", group),
            expected("updated", group, fields={"name"}),
        ]
        assert [arguments["instances"][0].name for _, _, arguments in sent] == ["Acme", "a", "New"]


@pytest.mark.django_db(transaction=True)
def test_a_rolled_back_write_sends_nothing(user_group):
    with received() as sent, transaction.atomic():
        UserGroup.objects.change(user_group.provided_id, name="New")
        user_group.delete()
        transaction.set_rollback(True)

    assert sent == []
    assert UserGroup.objects.get().name == user_group.name


@pytest.mark.django_db(transaction=True)
def test_a_signal_that_could_not_be_sent_is_lost():
    def stop():
        raise SystemExit

    @transaction.atomic
    def create_and_stop():
        transaction.on_commit(stop)
        TeamFactory()

    with received() as sent:
        with pytest.raises(SystemExit):
            create_and_stop()
        other = TeamFactory()

    assert Team.objects.count() == 2
    assert sent == [expected("created", other)]


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


def test_an_actor_is_forgotten_after_an_error():
    with pytest.raises(ZeroDivisionError), acting_as("host"):
        1 / 0  # noqa: B018

    with recorded() as sent:
        team = TeamFactory()
    assert sent == [expected("created", team, actor=None)]


@pytest.mark.parametrize(("body", "status"), [({"user_group_id": "new"}, 201), ({}, 400), (b"{", 400)])
def test_the_token_acts_only_during_its_call(call_usergroups, body, status):
    response = call_usergroups("POST", "user", body)

    with recorded() as sent:
        team = TeamFactory()
    assert response.status_code == status
    assert sent == [expected("created", team, actor=None)]


@pytest.mark.django_db(transaction=True)
def test_the_actor_is_the_one_of_the_write_and_not_of_the_commit():
    with received() as sent, acting_as("later"), transaction.atomic(), acting_as("writer"):
        team = TeamFactory()

    assert sent == [expected("created", team, actor="writer")]


# Receivers


class ReceiverError(Exception):
    pass


def fail(**kwargs):
    raise ReceiverError("The receiver failed.")


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("failing", "logger"),
    [(fail, "django.dispatch"), (partial(fail), "django.db.backends.base")],  # Django cannot log a receiver's name.
    ids=["function", "partial"],
)
def test_a_failing_receiver_is_logged_and_breaks_nothing(call_usergroups, receiver, caplog, failing, logger):
    receiver(signals.created, failing)

    response = call_usergroups("POST", "user", {"user_group_id": "new"})

    assert response.status_code == 201
    assert UserGroup.objects.filter(provided_id="new").exists()
    [record] = [record for record in caplog.records if record.name == logger]
    assert record.exc_info


@pytest.mark.django_db(transaction=True)
def test_other_receivers_get_the_signal_of_a_failing_one(call_usergroups, receiver, api_token):
    receiver(signals.created, fail)

    with received() as sent:
        call_usergroups("POST", "user", {"user_group_id": "new"})

    assert sent == [expected("created", UserGroup.objects.get(provided_id="new"), actor=api_token)]


@pytest.mark.django_db(transaction=True)
def test_a_receiver_runs_in_the_thread_of_the_write_and_can_write(receiver):
    threads = []

    def write(instances, **kwargs):
        threads.append(threading.current_thread())
        UserGroupFactory(team=instances[0], provided_id="from the receiver")

    receiver(signals.created, write, sender=Team)

    TeamFactory()

    assert threads == [threading.current_thread()]
    assert UserGroup.objects.filter(provided_id="from the receiver").exists()


@pytest.mark.django_db(transaction=True)
def test_a_receiver_cannot_change_the_instances_of_the_caller(call_usergroups, receiver):
    def rename(instances, **kwargs):
        instances[0].name = "Renamed"

    receiver(signals.created, rename)

    response = call_usergroups("POST", "user", {"user_group_id": "new", "name": "New"})

    assert response.json()["user_group"]["name"] == "New"


# Costs


def test_a_deletion_loads_only_keys_without_receivers(user_group):
    lock, *_ = queries_of(user_group.delete)

    assert "mapping" not in lock


def test_the_deletion_of_a_token_reads_it_if_there_is_a_receiver(receiver):
    first, second = ApiTokenFactory.create_batch(2)
    assert len(queries_of(first.delete)) == 1

    receiver(signals.deleted, lambda **kwargs: None, sender=ApiToken)

    assert len(queries_of(second.delete)) == 2


@pytest.mark.parametrize(
    "tokens",
    [
        ApiToken.objects.annotate(groups=Count("team__user_groups")).filter(groups=0),
        ApiToken.objects.filter(team__isnull=False).distinct(),
    ],
    ids=["with an aggregate", "distinct"],
)
def test_any_queryset_can_be_deleted_with_a_receiver(receiver, tokens):
    token = ApiTokenFactory()

    with recorded() as sent:
        number, _ = tokens.all().delete()

    assert number == 1
    assert sent == [expected("deleted", token)]


def test_many_rows_are_deleted_by_several_queries(monkeypatch):
    monkeypatch.setattr(transactions, "MAX_DELETED", 2)
    tokens = ApiTokenFactory.create_batch(5)

    with recorded() as sent:
        assert ApiToken.objects.all().delete() == (5, {"usergroups.ApiToken": 5})

    assert sent == [expected("deleted", *tokens)]


@pytest.mark.parametrize(("sender", "number"), [(UserGroup, 1), (Team, 0)])
def test_nothing_is_registered_for_the_commit_without_a_receiver(receiver, user_group, sender, number):
    receiver(signals.updated, lambda **kwargs: None, sender=sender)

    with TestCase.captureOnCommitCallbacks() as callbacks:
        UserGroup.objects.change(user_group.provided_id, name="New")

    assert len(callbacks) == number
