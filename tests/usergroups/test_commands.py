from datetime import timedelta

import pytest
from django.core.management import CommandError, call_command
from django.core.management.base import OutputWrapper
from django.utils import timezone

from tests.usergroups.factories import TeamFactory, store_tokens
from usergroups.models import ApiToken, Team

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def team():
    return TeamFactory(name="Acme")


def test_only_the_secret_of_a_new_token_is_written_to_standard_output(team, capsys):
    before = timezone.now()
    options = [
        "--environment=Testing",
        "--read-only",
        "--expires-in=30",
        "--name=CI",
    ]
    call_command("create_api_token", "--team", "Acme", *options)

    out, err = capsys.readouterr()
    token = ApiToken.objects.with_secret(out.removesuffix("\n"))
    assert token.team == team
    assert token.environment == "Testing"
    assert token.read_only
    assert token.name == "CI"
    assert before <= token.expires_at - timedelta(days=30) <= timezone.now()
    assert out.strip() not in err


def test_a_team_is_created_with_its_first_token():
    call_command("create_api_token", "--team", "New", "--create-team")

    token = ApiToken.objects.get(team__name="New")
    assert token.environment == ""
    assert not token.read_only
    assert token.expires_at is None
    assert token.name == ""


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--environment", "Production"], "argument --environment: invalid choice"),
        (["--expires-in", "soon"], "argument --expires-in: invalid days value"),
        (
            ["--expires-in", "0"],
            "argument --expires-in: must be a number of days from 1 to 36500",
        ),
        (
            ["--expires-in", "99999999999"],
            "argument --expires-in: must be a number of days from 1 to 36500",
        ),
        (["--name", "a" * 256], "Ensure this value has at most 255 characters"),
        # what Python makes of the byte 0xFF
        (["--name", "\udcff"], "argument --name: invalid utf8 value"),
        (["--team", "Unknown"], "There is no team named 'Unknown'"),
        (["--create-team"], "Team with this name already exists"),
        (["--create-team", "--team", "acme "], "Team with this name already exists"),
        (["--create-team", "--team", ""], "This field cannot be blank"),
    ],
)
def test_invalid_options_are_refused(team, options, message):
    with pytest.raises(CommandError, match=message):
        call_command("create_api_token", "--team", "Acme", *options)

    assert Team.objects.get() == team
    assert not ApiToken.objects.exists()


def test_nothing_is_created_if_the_secret_cannot_be_printed(team, monkeypatch):
    def fail(wrapper):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(OutputWrapper, "flush", fail)
    with pytest.raises(CommandError, match="No space left on device"):
        call_command("create_api_token", "--team", "New", "--create-team")

    assert Team.objects.get() == team
    assert not ApiToken.objects.exists()


def test_a_team_has_a_limited_number_of_active_tokens(team):
    store_tokens(ApiToken, 999, team=team)
    call_command("create_api_token", "--team", "Acme")

    with pytest.raises(CommandError, match="already has 1,000 active API tokens"):
        call_command("create_api_token", "--team", "Acme")

    assert ApiToken.objects.count() == 1_000
