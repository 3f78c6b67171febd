"""The tables and the admin if the labels of the apps are ``teams`` and
``links``, and the theme of the admin is Unfold: see settings_labelled.py.
"""

from types import SimpleNamespace

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.urls import reverse
from playwright.sync_api import expect

from bookmarks.models import AccessToken, Bookmark, Collection
from tests.admin.browser import (  # noqa: F401
    browser,
    needs_chromium,
    new_context,
    new_page,
)
from tests.bookmarks.factories import BookmarkFactory
from tests.usergroups.factories import ApiTokenFactory
from usergroups.models import ApiToken, Team, UserGroup

pytestmark = pytest.mark.django_db


def test_no_migration_is_missing():
    call_command("makemigrations", "--check", "--dry-run")


def test_the_tables_have_the_labels_in_their_names():
    assert UserGroup._meta.db_table == "teams_usergroup"
    assert Bookmark._meta.db_table == "links_bookmark"


def url(model, page, *args):
    name = f"admin:{model._meta.app_label}_{model._meta.model_name}_{page}"
    return reverse(name, args=args)


def test_the_admin_has_its_pages_and_imports_files(admin_client):
    user_group = BookmarkFactory().user_group
    for model in (Team, UserGroup, ApiToken, Collection, Bookmark, AccessToken):
        for page in ("changelist", "add"):
            assert admin_client.get(url(model, page)).status_code == 200

    upload(admin_client, url(Bookmark, "import"), user_group)

    assert user_group.bookmarks.filter(url="https://example.com/imported").exists()


def upload(client, address, user_group):
    file = SimpleUploadedFile("a.csv", b"url\nhttps://example.com/imported\n")
    client.post(address, {"user_group": user_group.pk, "file": file}, follow=True)


@pytest.fixture
def page(live_server, browser, admin_client):  # noqa: F811
    """Return a page of the browser, in which an operator is logged in.

    The test fails if the browser reports an error.
    """
    session = admin_client.cookies["sessionid"].value
    cookie = {"name": "sessionid", "value": session, "url": live_server.url}
    service = SimpleNamespace(base_url=live_server.url)
    with new_context(browser, service) as context, new_page(context) as page:
        context.add_cookies([cookie])
        yield page


@needs_chromium
def test_with_unfold_pages_fit_the_screen_and_a_token_can_be_revoked(page):
    token = ApiTokenFactory()
    group = BookmarkFactory(user_group__team=token.team).user_group
    for row in (group, token):
        for name, *args in (
            ["changelist"],
            ["add"],
            ["change", row.pk],
            ["history", row.pk],
        ):
            page.goto(url(type(row), name, *args))
            fits = "document.documentElement.scrollWidth <= innerWidth"
            assert page.evaluate(fits), page.url

    page.goto(url(ApiToken, "change", token.pk))
    page.get_by_role("button", name="Revoke", exact=True).click()
    page.get_by_role("button", name="Revoke 1 API token").click()
    expect(page.get_by_text("Revoked:")).to_be_visible()
