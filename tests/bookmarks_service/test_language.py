"""The language of the service's own pages in the admin, and of everything else."""

import re

import pytest
from django.contrib.auth.models import User
from django.urls import reverse
from django.utils.translation import get_language

from tests.admin.actions import act
from tests.admin.german import GERMAN, in_english
from tests.bookmarks.factories import AccessTokenFactory, BookmarkFactory
from tests.usergroups.factories import ApiTokenFactory

pytestmark = [pytest.mark.once, pytest.mark.django_db]

INDEX = reverse("admin:index")


def fill():
    """Create rows for each panel of the index page."""
    BookmarkFactory()
    ApiTokenFactory(expiring=True)
    AccessTokenFactory(unused=True)
    AccessTokenFactory(unused=True, last_used_at="2020-01-01T00:00Z")


def test_the_index_page_is_german(admin_client):
    fill()
    act(admin_client, "usergroups_apitoken", "revoke", ApiTokenFactory())
    english = admin_client.get(INDEX).content.decode()

    german = admin_client.get(INDEX, **GERMAN).content.decode()

    assert len(in_english(english)) > 15
    assert in_english(german) == set()
    assert "<h1>Übersicht</h1>" in german
    assert "Widerrufen. Von admin, vor" in re.sub(r"<[^>]+>", "", german)


def test_the_pages_before_the_login_are_german(client):
    User.objects.create_superuser("operator", password="correct")

    for _ in range(10):
        login = client.post(reverse("admin:login"), {"username": "operator", "password": "wrong"}, **GERMAN)

    assert login.status_code == 429
    assert "Zu viele fehlgeschlagene Anmeldungen" in login.content.decode()
    assert in_english(login.content.decode()) == set()


@pytest.mark.parametrize(
    ("accepted", "language"),
    [
        ("de-AT,de;q=0.9,en;q=0.8", "de"),
        ("fr", "en"),
        ("", "en"),
    ],
)
def test_the_admin_uses_the_language_of_the_browser(admin_client, accepted, language):
    page = admin_client.get(INDEX, HTTP_ACCEPT_LANGUAGE=accepted)

    assert f'<html lang="{language}"' in page.content.decode()
    assert page["Content-Language"] == language
    assert "Accept-Language" in page["Vary"]


@pytest.mark.parametrize(("path", "language"), [("/", "de"), ("/docs/", "en"), ("/admin/unknown/", "de")])
def test_the_start_page_and_the_error_pages_are_german_and_the_documentation_is_not(admin_client, path, language):
    page = admin_client.get(path, **GERMAN).content.decode()

    assert f'<html lang="{language}"' in page


def test_the_next_request_of_the_thread_is_not_german(admin_client):
    admin_client.get(INDEX, **GERMAN)

    assert get_language() == "en"
