from datetime import timedelta

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from tests.usergroups.factories import TeamFactory, UserGroupFactory
from usergroups.models import ApiToken, Team, UserGroup

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


def test_a_team_is_created(capsys):
    call_command("create_team", "Acme")

    out, err = capsys.readouterr()
    assert out == f"{Team.objects.get(name='Acme').pk}\n"
    assert "Acme" in err


def test_only_the_secret_of_a_new_token_is_written_to_standard_output(capsys):
    call_command("create_api_token", "--team", "Acme", "--create-team")

    out, err = capsys.readouterr()
    token = ApiToken.objects.authenticate(out.removesuffix("\n"))
    assert token.team == Team.objects.get(name="Acme")
    assert (token.environment, token.read_only, token.expires_at, token.name) == ("", False, None, "")
    assert "Acme" in err
    assert out.strip() not in err


@pytest.mark.parametrize("command", [["create_team", "Acme"], ["create_api_token", "--team", "Acme", "--create-team"]])
def test_a_team_is_not_created_twice(team, command):
    with pytest.raises(CommandError, match="There already is a team named 'Acme'"):
        call_command(*command)

    assert Team.objects.get() == team
    assert not ApiToken.objects.exists()


def test_an_unknown_team_is_an_error():
    with pytest.raises(CommandError, match="There is no team named 'Acme'") as error:
        call_command("create_api_token", "--team", "Acme")

    assert error.value.returncode == 1


# sync_user_groups


def test_groups_are_synchronised_with_a_file(tmp_path, capsys):
    there = UserGroupFactory(team=TeamFactory(name="Acme"), provided_id="there", name="There", properties={"a": 1})
    UserGroupFactory(team=there.team, provided_id="same", name="Same")
    file = tmp_path / "groups.jsonl"
    lines = [
        '{"user_group_id": "there", "name": "Renamed"}',
        '{"user_group_id": "same", "name": "Same"}',
        '{"user_group_id": "new", "properties": {"b": 2}}',
        "{}",
        "[",
    ]
    file.write_text("\n".join(lines))

    call_command("sync_user_groups", str(file), "--team", "Acme")

    out, err = capsys.readouterr()
    there.refresh_from_db()
    assert out == "1 created, 1 updated, 1 unchanged, 2 refused.\n"
    assert err.splitlines()[0] == "line 4: user_group_id: This field is required."
    assert err.splitlines()[1].startswith("line 5: The text is not valid JSON: ")
    assert (there.name, there.properties) == ("Renamed", {"a": 1})
    assert UserGroup.objects.get(provided_id="new").properties == {"b": 2}


def test_a_dry_run_of_the_synchronisation_changes_nothing(tmp_path, capsys):
    TeamFactory(name="Acme")
    file = tmp_path / "groups.jsonl"
    file.write_text("".join(f'{{"user_group_id": "{n}"}}\n' for n in range(1500)))

    call_command("sync_user_groups", str(file), "--team", "Acme", "--environment", "Testing", "--dry-run")
    assert not UserGroup.objects.exists()
    call_command("sync_user_groups", str(file), "--team", "Acme", "--environment", "Testing")

    assert capsys.readouterr().out == (
        "Dry run, nothing was changed: 1500 created, 0 updated, 0 unchanged, 0 refused.\n"
        "1500 created, 0 updated, 0 unchanged, 0 refused.\n"
    )
    assert UserGroup.objects.filter(environment="Testing").count() == 1500
