"""The language of the admin's index page, of the start, login and error pages,
and of the documentation.
"""

import re
from datetime import UTC, datetime

import pytest
from django.urls import reverse

from tests.admin.actions import act
from tests.admin.german import GERMAN, in_english
from tests.bookmarks.factories import AccessTokenFactory, BookmarkFactory
from tests.usergroups.factories import ApiTokenFactory

pytestmark = [pytest.mark.database_independent, pytest.mark.django_db]

INDEX = reverse("admin:index")


def fill():
    """Create rows for each panel of the index page."""
    BookmarkFactory()
    ApiTokenFactory(expiring=True)
    AccessTokenFactory(unused=True)
    AccessTokenFactory(unused=True, last_used_at=datetime(2020, 1, 1, tzinfo=UTC))


def test_the_index_page_is_german(admin_client):
    fill()
    act(admin_client, "usergroups_apitoken", "revoke", ApiTokenFactory())
    english = admin_client.get(INDEX).content.decode()

    german = admin_client.get(INDEX, **GERMAN).content.decode()

    # The page has texts that the catalogs translate.
    assert len(in_english(english)) > 15
    assert in_english(german) == set()
    assert "<h1>Übersicht</h1>" in german
    assert "Widerrufen · 1 API-Token" in german
    assert re.search("admin, <time[^>]*>gerade eben<", german)


@pytest.mark.parametrize(
    ("visitor", "path"),
    [
        ("admin_client", "/"),
        ("client", "/admin/login/"),
        ("admin_client", "/admin/unknown/"),
    ],
)
def test_the_start_page_the_login_page_and_a_missing_page_are_german(
    request, visitor, path
):
    """test_handlers.py has the other error pages."""
    page = request.getfixturevalue(visitor).get(path, **GERMAN).content.decode()

    assert '<html lang="de"' in page
    assert in_english(page) == set()


@pytest.mark.parametrize("path", ["/", "/docs/", "/schema/"])
def test_a_method_that_a_page_does_not_serve_is_refused_in_english(client, path):
    response = client.post(path, **GERMAN)

    assert response.status_code == 405
    [error] = response.json()["errors"]
    assert error["detail"] == 'Method "POST" not allowed.'
