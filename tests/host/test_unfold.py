"""The admin of the apps with Unfold, in Chromium and in a project that startproject created."""

import re
from types import SimpleNamespace

import pytest
from playwright.sync_api import expect

from tests.admin.browser import browser, choose, clipboard, log_in, needs_chromium, new_page  # noqa: F401
from tests.host.projects.hosts import new_project

pytestmark = [pytest.mark.once, needs_chromium]

UNFOLD = "INSTALLED_APPS = ['unfold', *INSTALLED_APPS, 'tests.host.styled']"
NO_FAVICON = "UNFOLD = {'SITE_FAVICONS': [{'rel': 'icon', 'href': 'data:,'}]}"


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    folder = tmp_path_factory.mktemp("unfold")
    host = new_project(folder, ["django", "runserver", "--noreload", "{port}"], UNFOLD, NO_FAVICON)
    host.environment.update(DJANGO_SUPERUSER_PASSWORD="a-password", PYTHONWARNINGS="error")
    with host.serve(folder / "log") as address:
        host.run("django", "createsuperuser", "--noinput", "--username=operator", "--email=operator@example.com")
        yield SimpleNamespace(base_url=address)


@pytest.fixture
def page(browser, service):  # noqa: F811
    with new_page(browser, service) as page:
        log_in(page, "a-password")
        expect(page.get_by_role("link", name="API tokens").first).to_be_visible()
        yield page


def test_an_api_token_is_issued_rotated_and_revoked(page):
    page.goto("/admin/usergroups/apitoken/add/")
    choose(page, "#id_team", "tea", "Team")
    page.get_by_label("Name").fill("Nightly sync")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("This is the only time that the secret is shown.")).to_be_visible()
    page.get_by_role("button", name="Copy").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    secret = clipboard(page)
    assert re.fullmatch(r"uga_\w{38}", secret)

    page.get_by_role("link", name="Back to API tokens").click()
    row = page.get_by_role("row", name=re.compile("Nightly sync"))
    expect(row.locator(".badge")).to_have_text("Active")
    assert secret not in page.content()

    row.get_by_role("link").first.click()
    page.get_by_role("button", name="Rotate").click()
    page.get_by_label("Old token expires").select_option("at once")
    page.get_by_role("button", name="Rotate 1 API token").click()
    expect(page.locator(".secret code")).to_have_text(re.compile(r"uga_\w{38}"))
    page.locator("#secrets tbody a").first.click()
    page.get_by_role("button", name="Revoke", exact=True).click()
    page.get_by_role("button", name="Revoke 1 API token").click()
    expect(page.get_by_text("Revoked: 1.")).to_be_visible()
    expect(page.locator(".badge", has_text="Revoked")).to_be_visible()


def test_no_page_has_an_error_or_is_wider_than_the_screen(page):
    models = ("usergroups/team", "usergroups/usergroup", "usergroups/apitoken", "bookmarks/accesstoken")
    for model in models:
        for path in ("", "add/", "?q=nothing", "1/change/", "1/history/", "1/delete/"):
            page.goto(f"/admin/{model}/{path}")
            page.wait_for_load_state("networkidle")
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), path
