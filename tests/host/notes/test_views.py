"""The examples of docs/customize.md: a view that a host has changed, a kind
of token of its own, and a dashboard.
"""

import pytest
from django.test import Client
from factory import SubFactory

from bookmarks.models import Bookmark
from tests.admin.actions import act, issue, secrets_on, url
from tests.answers import errors
from tests.conftest import Caller
from tests.host.notes.models import Rating, ReportToken
from tests.usergroups.factories import TeamFactory, TokenFactory, UserGroupFactory

pytestmark = [pytest.mark.django_db, pytest.mark.urls("tests.host.notes.urls")]

BODY = {"url": "https://Example.com/a"}


# Change the views


@pytest.fixture
def rate_bookmark(api_client, token):
    return Caller(api_client, "POST", "/ratings", "Links", token)


def test_a_field_of_the_host_is_stored_with_the_bookmark(rate_bookmark):
    created = rate_bookmark({**BODY, "stars": 5})
    again = rate_bookmark({**BODY, "stars": 4})

    assert (created.status_code, again.status_code) == (201, 200)
    assert Rating.objects.get().stars == 4
    assert Rating.objects.get().bookmark == Bookmark.objects.get()
    assert created["Location"] == f"/links/v1/bookmarks/{Bookmark.objects.get().pk}"


def test_an_error_of_a_field_of_the_host_stores_nothing(rate_bookmark):
    response = rate_bookmark({**BODY, "stars": 6})

    assert errors(response) == [("stars", "max_value")]
    assert not Bookmark.objects.exists()


def test_a_view_of_the_host_has_its_own_scheme_and_methods(
    rate_bookmark, api_client, token
):
    as_bearer = Caller(api_client, "POST", "/ratings", "Bearer", token)

    response = as_bearer({**BODY, "stars": 5})

    assert errors(response, 401) == [(None, "wrong_scheme")]
    assert response["WWW-Authenticate"].startswith("Links ")
    assert errors(rate_bookmark(method="GET"), 405) == [(None, "method_not_allowed")]


# Tokens of your own


class ReportTokenFactory(TokenFactory):
    class Meta:
        model = ReportToken

    team = SubFactory(TeamFactory)


def test_a_token_of_the_host_authenticates_its_owner_and_is_limited(
    api_client, settings
):
    settings.USERGROUPS_CALL_RATE = "1/day"
    token = ReportTokenFactory(team=UserGroupFactory().team, recently_used=True)
    UserGroupFactory()
    read_report = Caller(api_client, "GET", "/report", "Bearer", token)

    allowed = read_report()
    refused = read_report()

    assert token.secret.startswith("rep_")
    assert allowed.json() == {"success": 1, "user_groups": 1}
    assert allowed["RateLimit-Policy"] == '"token";q=1;w=86400'
    assert errors(refused, 429) == [(None, "throttled")]


@pytest.mark.urls("tests.host.urls")
def test_the_admin_issues_rotates_and_revokes_a_token_of_the_host(admin_client):
    model = "notes_reporttoken"
    issued = issue(admin_client, model, team=TeamFactory().pk, name="Warehouse")
    [secret] = secrets_on(issued)
    token = ReportToken.objects.with_secret(secret)
    rotated = act(admin_client, model, "rotate", token, grace="0")
    [new_secret] = secrets_on(rotated)
    successor = ReportToken.objects.with_secret(new_secret)
    act(admin_client, model, "revoke", successor)

    assert (token.name, successor.name) == ("Warehouse", "Warehouse")
    assert not ReportToken.objects.with_secret(secret).is_active
    assert not ReportToken.objects.with_secret(new_secret).is_active
    page = admin_client.get(url(f"{model}_changelist")).content.decode()
    assert new_secret not in page


# Dashboards


@pytest.fixture
def show_dashboard():
    return lambda **data: Client(enforce_csrf_checks=True).post("/dashboard/", data)


def test_a_user_group_token_shows_the_dashboard_of_its_group(show_dashboard):
    user_group = UserGroupFactory(name="Acme & Co.", properties={"region": "EU"})

    response = show_dashboard(token=user_group.token)

    shown = "".join(response.content.decode().split())
    assert shown == "<h1>Acme&amp;Co.</h1><p>EU</p>"
    assert "X-Frame-Options" not in response
    assert "no-store" in response["Cache-Control"]


@pytest.mark.parametrize(
    "data", [{}, {"token": ""}, {"token": "\0"}, {"token": "ugt_unknown"}]
)
def test_an_unknown_token_shows_no_dashboard(show_dashboard, data):
    UserGroupFactory()

    assert show_dashboard(**data).status_code == 404
