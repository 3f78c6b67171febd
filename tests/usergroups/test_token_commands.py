"""The commands that list, revoke and rotate tokens, for hosts without an admin."""

import json
from datetime import timedelta

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from tests.usergroups.factories import ApiTokenFactory
from usergroups.models import ApiToken

pytestmark = pytest.mark.django_db


@pytest.fixture
def run(capsys):
    """Return a function that runs a command and returns the lines on standard output."""

    def run(*arguments):
        call_command(*arguments)
        return capsys.readouterr().out.splitlines()

    return run


def test_tokens_are_listed(run):
    first, second = ApiTokenFactory(name="CI"), ApiTokenFactory()

    lines = [line.split("\t") for line in run("list_tokens")]

    assert lines == [
        [first.public_id, "active", str(first.team), f"{first.hint}… CI"],
        [second.public_id, "active", str(second.team), str(second)],
    ]


def test_the_list_in_json_has_all_fields_and_no_secret(run):
    token = ApiTokenFactory(name="CI", read_only=True)

    [line] = run("list_tokens", "--json")

    assert json.loads(line) == {
        "id": token.public_id, "kind": "API token", "owner": str(token.team), "name": "CI", "hint": token.hint,
        "state": "active", "read_only": True, "created_at": json.loads(line)["created_at"], "expires_at": None,
        "rotated_at": None, "revoked_at": None, "last_used_at": None,
    }  # fmt: skip


def test_the_list_is_filtered_by_team_and_state(run):
    token = ApiTokenFactory()
    ApiTokenFactory(team=token.team).revoke()
    ApiTokenFactory()

    [line] = run("list_tokens", "--team", token.team.name, "--state", "active")

    assert line.startswith(token.public_id)
    with pytest.raises(CommandError, match="There is no team named 'Nobody'"):
        run("list_tokens", "--team", "Nobody")


def test_a_token_is_revoked(run):
    token = ApiTokenFactory()

    [line] = run("revoke_token", token.public_id, "--json")

    assert json.loads(line)["state"] == "revoked"
    assert ApiToken.objects.get().revoked_at is not None
    assert run("revoke_token", token.public_id) == []


def test_a_token_is_rotated(run):
    token = ApiTokenFactory()

    [secret] = run("rotate_token", token.public_id, "--grace", "2")

    successor = ApiToken.objects.authenticate(secret)
    assert (successor.team, successor.predecessor_id) == (token.team, token.pk)
    token.refresh_from_db()
    assert abs(token.expires_at - timezone.now() - timedelta(hours=2)) < timedelta(minutes=1)


@pytest.mark.parametrize("grace", ["-1", "876001"])
def test_an_impossible_grace_period_is_refused(run, grace):
    with pytest.raises(CommandError, match="--grace must be a number of hours"):
        run("rotate_token", ApiTokenFactory().public_id, f"--grace={grace}")


def test_a_revoked_token_is_not_rotated(run):
    token = ApiTokenFactory()
    token.revoke()

    with pytest.raises(CommandError, match="is not active"):
        run("rotate_token", token.public_id)


@pytest.mark.parametrize("command", ["revoke_token", "rotate_token"])
@pytest.mark.parametrize("public_id", ["x", "00" * 32])
def test_an_unknown_token_is_refused(run, command, public_id):
    with pytest.raises(CommandError, match=f"There is no token with the id '{public_id}'"):
        run(command, public_id)
