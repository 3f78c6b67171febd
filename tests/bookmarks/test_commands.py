import pytest
from django.core.management import CommandError, call_command

from bookmarks.models import AccessToken, Collection
from tests.bookmarks.factories import CollectionFactory
from tests.usergroups.factories import UserGroupFactory

pytestmark = pytest.mark.django_db

GROUP = ["--team", "Acme", "--user-group", "example_1"]


@pytest.fixture
def user_group():
    return UserGroupFactory(team__name="Acme", provided_id="example_1")


def test_the_secret_alone_is_on_standard_output(user_group, capsys):
    call_command("create_access_token", *GROUP, "--read-only", "--expires-in", "30", "--name", "CI")

    out, err = capsys.readouterr()
    token = AccessToken.objects.authenticate(out.removesuffix("\n"))
    assert (token.user_group, token.read_only, token.name) == (user_group, True, "CI")
    assert token.expires_at is not None
    assert out.strip() not in err


def test_the_group_is_of_the_environment(user_group, capsys):
    testing = UserGroupFactory(team=user_group.team, environment="Testing", provided_id="example_1")

    call_command("create_access_token", *GROUP, "--environment", "Testing")

    assert AccessToken.objects.get().user_group == testing


def test_the_id_alone_is_on_standard_output(user_group, capsys):
    call_command("create_collection", *GROUP, "--name", "Reading list")

    collection = Collection.objects.get()
    assert capsys.readouterr().out == f"{collection.pk}\n"
    assert (collection.user_group, collection.name) == (user_group, "Reading list")


def test_a_collection_is_not_created_twice(user_group):
    CollectionFactory(user_group=user_group, name="Reading list")

    with pytest.raises(CommandError, match="has a collection 'Reading list' already") as error:
        call_command("create_collection", *GROUP, "--name", "Reading list")

    assert error.value.returncode == 1


@pytest.mark.parametrize("command", [["create_access_token"], ["create_collection", "--name", "Reading list"]])
def test_an_unknown_team_or_group_is_told(command):
    with pytest.raises(CommandError, match="There is no team named 'Acme'") as error:
        call_command(*command, *GROUP)
    assert error.value.returncode == 1

    UserGroupFactory(team__name="Acme", environment="Testing", provided_id="example_1")
    with pytest.raises(CommandError, match="has no user group 'example_1' in no environment") as error:
        call_command(*command, *GROUP)
    assert error.value.returncode == 1
