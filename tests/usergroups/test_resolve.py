"""The user group of a user group token."""

import pytest

from tests.answers import errors, user_group_detail_json
from tests.queries import queries_of
from tests.usergroups.factories import UserGroupFactory
from usergroups.models import UserGroup


@pytest.fixture
def resolve(call_usergroups):
    return lambda token: call_usergroups("POST", "user-resolve", {"token": token})


def test_the_group_of_a_token_is_found(resolve, user_group):
    UserGroupFactory(team=user_group.team)

    response = resolve(user_group.token)

    assert response.json() == {"success": 1, "user_group": user_group_detail_json(user_group)}


@pytest.mark.parametrize(
    ("token", "code"), [(None, "null"), ("", "blank"), (1, "invalid"), ("a" * 65, "max_length"), ([], "invalid")]
)
def test_an_invalid_token_is_refused(resolve, token, code):
    assert errors(resolve(token)) == [("token", code)]


def test_the_manager_finds_the_group_of_a_token_in_one_query(user_group):
    UserGroupFactory(team=user_group.team)

    [_] = queries_of(lambda: UserGroup.objects.get_by_token(user_group.token))
    assert UserGroup.objects.get_by_token(user_group.token) == user_group


@pytest.mark.parametrize("token", ["", "unknown", "\0", "\ud800", "ugt_\u2028"])
def test_any_text_may_be_looked_up(user_group, token):
    with pytest.raises(UserGroup.DoesNotExist):
        UserGroup.objects.get_by_token(token)
