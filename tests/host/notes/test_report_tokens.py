"""A kind of token that the host defines. These tests run with the settings of the host."""

from datetime import timedelta

import pytest
from django.apps import apps
from django.core.management import call_command
from factory import SubFactory

if not apps.is_installed("tests.host.notes"):
    pytest.skip("the host is not installed", allow_module_level=True)

from tests.admin.actions import act, issue, secrets_on, url
from tests.answers import errors
from tests.bookmarks.factories import AccessTokenFactory
from tests.conftest import Caller
from tests.host.notes.models import ReportToken
from tests.queries import queries_of
from tests.usergroups.factories import ApiTokenFactory, TeamFactory, TokenFactory, UserGroupFactory

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


def test_no_migration_is_missing_in_the_host():
    call_command("makemigrations", check=True, dry_run=True)


def test_a_token_is_issued_and_authenticates_its_owner(read_report, token):
    UserGroupFactory()

    assert token.secret.startswith("rep_")
    assert read_report(token).json() == {"success": 1, "user_groups": 1}


def test_a_token_takes_one_query(read_report, token):
    tokens, _ = queries_of(read_report, token)

    assert "notes_reporttoken" in tokens


@pytest.mark.parametrize("trait", ["revoked", "expired"])
def test_a_revoked_or_expired_token_is_refused(read_report, team, trait):
    response = read_report(ReportTokenFactory(team=team, **{trait: True}))

    assert errors(response, 401) == [(None, "authentication_failed")]


@pytest.mark.parametrize("factory", [ApiTokenFactory, AccessTokenFactory])
def test_a_token_of_another_kind_is_refused(read_report, factory):
    response = read_report(factory())

    assert errors(response, 401) == [(None, "wrong_token_kind")]
    assert "Authorization: Bearer <REPORT_TOKEN>" in response.json()["errors"][0]["detail"]


def test_another_scheme_is_refused(read_report, token):
    assert errors(read_report(token, "Token"), 401) == [(None, "wrong_scheme")]


def test_a_token_is_rotated(read_report, token):
    successor, secret = token.rotate(grace=timedelta())
    successor.secret = secret

    assert errors(read_report(token), 401) == [(None, "authentication_failed")]
    assert read_report(successor).status_code == 200


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
