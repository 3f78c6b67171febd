from datetime import timedelta

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from tests.usergroups.factories import TeamFactory
from usergroups.models import ApiToken, Team

pytestmark = pytest.mark.django_db


@pytest.fixture
def team():
    return TeamFactory(name="Acme")


def test_the_options_set_the_fields_of_the_token(team, capsys):
    options = ["--environment", "Testing", "--read-only", "--expires-in", "30", "--name", "CI"]
    call_command("create_api_token", "--team", "Acme", *options)

    token = ApiToken.objects.get()
    assert (token.environment, token.read_only, token.name) == ("Testing", True, "CI")
    assert abs(token.expires_at - timezone.now() - timedelta(days=30)) < timedelta(minutes=1)


@pytest.mark.parametrize(
    "options",
    [["--environment", "Production"], ["--expires-in", "0"], ["--expires-in", "-1"], ["--expires-in", "soon"],
     ["--expires-in", "99999999999"], ["--expires-in", "²"], ["--name", "a" * 256], ["--name", "\udcff"]],
)  # fmt: skip
def test_invalid_options_are_refused(team, options):
    with pytest.raises(CommandError, match="argument --"):
        call_command("create_api_token", "--team", "Acme", *options)

    assert not ApiToken.objects.exists()


def test_only_the_secret_of_a_new_token_is_written_to_standard_output(capsys):
    call_command("create_api_token", "--team", "Acme", "--create-team")

    out, err = capsys.readouterr()
    token = ApiToken.objects.authenticate(out.removesuffix("\n"))
    assert token.team == Team.objects.get(name="Acme")
    assert (token.environment, token.read_only, token.expires_at, token.name) == ("", False, None, "")
    assert "Acme" in err
    assert out.strip() not in err


def test_a_team_is_not_created_twice(team):
    with pytest.raises(CommandError, match="There already is a team named 'Acme'"):
        call_command("create_api_token", "--team", "Acme", "--create-team")

    assert Team.objects.get() == team
    assert not ApiToken.objects.exists()


def test_an_unknown_team_is_an_error():
    with pytest.raises(CommandError, match="There is no team named 'Acme'") as error:
        call_command("create_api_token", "--team", "Acme")

    assert error.value.returncode == 1
