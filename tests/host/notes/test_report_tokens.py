"""A kind of token that the host defines."""

import pytest
from factory import SubFactory

from tests.admin.actions import act, issue, secrets_on, url
from tests.answers import errors
from tests.conftest import Caller
from tests.host.notes.models import ReportToken
from tests.usergroups.factories import TeamFactory, TokenFactory, UserGroupFactory

pytestmark = [pytest.mark.django_db, pytest.mark.urls("tests.host.notes.urls")]


class ReportTokenFactory(TokenFactory):
    class Meta:
        model = ReportToken

    team = SubFactory(TeamFactory)


@pytest.fixture
def read_report(client):
    return lambda token, scheme="Bearer": Caller(client, "GET", "/report", scheme, token)(CONTENT_TYPE=None)


@pytest.fixture
def team():
    return UserGroupFactory().team


@pytest.fixture
def token(team):
    return ReportTokenFactory(team=team, recently_used=True)


def test_a_token_is_issued_and_authenticates_its_owner(read_report, token):
    UserGroupFactory()

    assert token.secret.startswith("rep_")
    assert read_report(token).json() == {"success": 1, "user_groups": 1}


def test_calls_are_limited(read_report, token, settings):
    settings.USERGROUPS_CALL_RATE = "1/day"

    allowed, refused = read_report(token), read_report(token)

    assert allowed["RateLimit-Policy"] == '"token";q=1;w=86400'
    assert errors(refused, 429) == [(None, "throttled")]


@pytest.mark.urls("tests.host.urls_admin")
def test_the_admin_issues_rotates_and_revokes_a_token(admin_client, team):
    issued = issue(admin_client, "notes_reporttoken", team=team.pk, name="Warehouse")
    [secret] = secrets_on(issued)
    token = ReportToken.objects.authenticate(secret)
    rotated = act(admin_client, "notes_reporttoken", "rotate", token, grace="0")
    [new_secret] = secrets_on(rotated)
    successor = ReportToken.objects.authenticate(new_secret)
    act(admin_client, "notes_reporttoken", "revoke", successor)

    assert (token.name, successor.name) == ("Warehouse", "Warehouse")
    assert ReportToken.objects.authenticate(secret) is None
    assert ReportToken.objects.authenticate(new_secret) is None
    assert new_secret not in admin_client.get(url("notes_reporttoken_changelist")).content.decode()
