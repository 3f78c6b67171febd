"""The command that deletes what is old."""

from datetime import timedelta

import pytest
from django.contrib.admin.models import CHANGE, LogEntry
from django.core.management import CommandError, call_command
from django.utils import timezone
from uuid_utils.compat import uuid7

from bookmarks.deleted_bookmarks import Deletion
from bookmarks.models import AccessToken
from tests.bookmarks.factories import AccessTokenFactory
from tests.queries import queries_of
from tests.usergroups.factories import ApiTokenFactory, TeamFactory, store_tokens
from usergroups.deleted_user_groups import UserGroupDeletion
from usergroups.events import Event, first_key
from usergroups.models import ApiToken

pytestmark = pytest.mark.django_db


def days_ago(number):
    return timezone.now() - timedelta(days=number, minutes=1)


def key_of(at):
    """Return a key with this time."""
    return uuid7(nanoseconds=int(at.timestamp() * 1_000_000_000))


def event(days, **fields):
    at = days_ago(days)
    fields = {"kind": "changed", "model": "usergroups.usergroup", **fields}
    return Event.objects.create(id=key_of(at), at=at, **fields)


def test_the_first_key_of_a_time_is_between_those_before_and_after():
    now = timezone.now()
    millisecond = timedelta(milliseconds=1)

    assert key_of(now - millisecond) < first_key(now) < key_of(now)


def test_events_of_owners_are_deleted_earlier_than_others(user_group):
    team = user_group.team
    kept = [
        event(364, user_group=user_group, text="kept"),
        event(364, team=team),
        event(1_094, kind="deleted"),
    ]
    event(365, user_group=user_group)
    event(365, team=team)
    event(1_095, kind="deleted")

    call_command("prune")

    assert set(Event.objects.all()) == set(kept)


def test_refused_lines_are_erased_earlier(user_group):
    new = event(29, user_group=user_group, refused_lines="a")
    old = event(30, user_group=user_group, refused_lines="b", text="a.csv")

    call_command("prune")

    new.refresh_from_db()
    old.refresh_from_db()
    assert (new.refused_lines, old.refused_lines, old.text) == ("a", "", "a.csv")


def test_tokens_are_deleted_a_year_after_they_expired_or_were_revoked(capsys):
    now = timezone.now()
    tomorrow = now + timedelta(days=1)
    a_year_ago = now - timedelta(days=365)
    later = now - timedelta(days=364)
    kept = [
        ApiTokenFactory(created_at=now - timedelta(days=999)),
        ApiTokenFactory(expires_at=later),
        ApiTokenFactory(revoked_at=later),
        ApiTokenFactory(expires_at=tomorrow, revoked_at=later),
    ]
    ApiTokenFactory(expires_at=a_year_ago)
    ApiTokenFactory(revoked_at=a_year_ago)
    ApiTokenFactory(expires_at=tomorrow, revoked_at=a_year_ago)
    AccessTokenFactory(expires_at=a_year_ago, revoked_at=later)

    call_command("prune")

    assert list(ApiToken.objects.order_by("pk")) == kept
    assert not AccessToken.objects.exists()
    assert "4 tokens" in capsys.readouterr().err


def test_rows_are_deleted_in_chunks():
    store_tokens(ApiToken, 2_001, team=TeamFactory(), expires_at=days_ago(400))

    empty = len(queries_of(call_command, "prune", "--tokens-days=500"))
    statements = queries_of(call_command, "prune")

    assert not ApiToken.objects.exists()
    # For each of three chunks, a SELECT of the keys and a DELETE.
    assert len(statements) == empty + 3 * 2
    # Each SELECT after the first begins after the keys of the last chunk.
    assert sum('."id" > ' in sql for sql in statements) == 3


def test_records_of_deletions_are_found_by_their_keys(user_group, settings):
    settings.USERGROUPS_DELETION_RETENTION_DAYS = 3
    kept, old = days_ago(2), days_ago(3)
    for at in (kept, old):
        fields = {"id": key_of(at), "deleted_at": at}
        Deletion.objects.create(user_group=user_group, object_id=uuid7(), **fields)
        UserGroupDeletion.objects.create(team=user_group.team, **fields)

    statements = queries_of(call_command, "prune")

    assert Deletion.objects.get().deleted_at == kept
    assert UserGroupDeletion.objects.get().deleted_at == kept
    for sql in statements:
        assert '"deleted_at"' not in sql


def test_entries_of_djangos_history_are_erased_if_they_are_old(admin_user):
    team = TeamFactory(name="Acme")
    new, old = (
        LogEntry.objects.log_actions(admin_user.pk, [team], CHANGE, "Acme")[0]
        for _ in range(2)
    )
    LogEntry.objects.filter(pk=old.pk).update(action_time=days_ago(365))

    call_command("prune")

    old.refresh_from_db()
    new.refresh_from_db()
    assert (old.object_repr, old.change_message) == ("", "")
    assert (old.object_id, old.user) == (str(team.pk), admin_user)
    assert (new.object_repr, new.change_message) == ("Acme", "Acme")


def test_a_dry_run_only_counts(user_group, admin_user, capsys):
    event(400, user_group=user_group)
    event(31, user_group=user_group, refused_lines="a")
    ApiTokenFactory(revoked_at=days_ago(400))
    [entry] = LogEntry.objects.log_actions(admin_user.pk, [TeamFactory()], CHANGE, "")
    LogEntry.objects.filter(pk=entry.pk).update(action_time=days_ago(400))

    statements = queries_of(call_command, "prune", "--dry-run")

    assert {sql.split()[0] for sql in statements} == {"SELECT"}
    assert capsys.readouterr().err == (
        "Would delete or erase 1 events, 0 ownerless events, 1 refused lines, "
        "0 deletions, 1 tokens, 1 log entries.\n"
    )


def test_each_age_can_be_set(user_group):
    owned = [event(10, user_group=user_group), event(10, team=user_group.team)]
    event(10, kind="deleted")

    call_command("prune", "--events-days=11", "--ownerless-events-days=9")

    assert set(Event.objects.all()) == set(owned)


@pytest.mark.parametrize("days", ["0", "x", "999999999"])
def test_an_age_is_a_number_of_days(days):
    with pytest.raises(CommandError, match="--events-days"):
        call_command("prune", f"--events-days={days}")
