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
    assert (UserGroup._meta.db_table, Bookmark._meta.db_table) == (
        "teams_usergroup",
        "links_bookmark",
    )


def url(model, page, *args):
    name = f"admin:{model._meta.app_label}_{model._meta.model_name}_{page}"
    return reverse(name, args=args)


@pytest.mark.parametrize("page", ["changelist", "add"])
@pytest.mark.parametrize(
    "model", [Team, UserGroup, ApiToken, Collection, Bookmark, AccessToken]
)
def test_the_admin_has_its_pages(admin_client, model, page):
    BookmarkFactory()

    assert admin_client.get(url(model, page)).status_code == 200


def test_a_file_is_imported_in_the_admin(admin_client):
    user_group = BookmarkFactory().user_group
    file = SimpleUploadedFile(
        "bookmarks.jsonl", b'{"url": "https://example.com/imported"}'
    )

    admin_client.post(
        url(Bookmark, "import"),
        {"user_group": user_group.pk, "file": file},
        follow=True,
    )

    assert user_group.bookmarks.filter(url="https://example.com/imported").exists()


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
        model = type(row)
        for address in (
            url(model, "changelist"),
            url(model, "add"),
            url(model, "change", row.pk),
            url(model, "history", row.pk),
        ):
            page.goto(address)
            assert page.evaluate(
                "document.documentElement.scrollWidth <= innerWidth"
            ), address

    page.goto(url(ApiToken, "change", token.pk))
    page.get_by_role("button", name="Revoke", exact=True).click()
    page.get_by_role("button", name="Revoke 1 API token").click()
    expect(page.get_by_text("Revoked:")).to_be_visible()
