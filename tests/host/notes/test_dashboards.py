"""A dashboard that is embedded in a page."""

import pytest
from django.test import Client

from tests.usergroups.factories import UserGroupFactory

pytestmark = [pytest.mark.django_db, pytest.mark.urls("tests.host.notes.urls")]


@pytest.fixture
def show():
    return lambda **data: Client(enforce_csrf_checks=True).post("/dashboard/", data)


def test_a_token_shows_the_dashboard_of_its_group(show):
    user_group = UserGroupFactory(name="Acme & Co.", properties={"region": "EU"})

    response = show(token=user_group.token)

    assert response.status_code == 200
    assert "<h1>Acme &amp; Co.</h1>" in response.content.decode()
    assert "EU" in response.content.decode()
    assert "X-Frame-Options" not in response
    assert "no-store" in response["Cache-Control"]


@pytest.mark.parametrize("data", [{}, {"token": ""}, {"token": "\0"}, {"token": "ugt_unknown"}])
def test_an_unknown_token_shows_nothing(show, data):
    UserGroupFactory()

    assert show(**data).status_code == 404
