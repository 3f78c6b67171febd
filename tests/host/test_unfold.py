"""The admin of the apps with Unfold, in Chromium and in a project that startproject created."""

from types import SimpleNamespace

import pytest
from playwright.sync_api import expect

from tests.admin.browser import browser, log_in, needs_chromium, new_page  # noqa: F401
from tests.host.projects.hosts import new_project

pytestmark = [pytest.mark.once, needs_chromium]

UNFOLD = "INSTALLED_APPS = ['unfold', *INSTALLED_APPS, 'tests.host.styled']"
NO_FAVICON = "UNFOLD = {'SITE_FAVICONS': [{'rel': 'icon', 'href': 'data:,'}]}"


@pytest.fixture
def page(browser, tmp_path):  # noqa: F811
    """The test fails if the browser reports an error."""
    host = new_project(tmp_path, ["django", "runserver", "--noreload", "{port}"], UNFOLD, NO_FAVICON)
    host.environment.update(DJANGO_SUPERUSER_PASSWORD="a-password", PYTHONWARNINGS="error")
    with host.serve(tmp_path / "log") as address:
        host.run("django", "createsuperuser", "--noinput", "--username=operator", "--email=operator@example.com")
        with new_page(browser, SimpleNamespace(base_url=address)) as page:
            log_in(page, "a-password")
            expect(page.get_by_role("link", name="API tokens").first).to_be_visible()
            yield page


def test_no_page_has_an_error_or_is_wider_than_the_screen(page):
    for model in ("usergroups/usergroup", "usergroups/apitoken"):
        for path in ("", "add/", "1/change/", "1/history/"):
            page.goto(f"/admin/{model}/{path}")
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), path

    page.goto("/admin/usergroups/apitoken/1/change/")
    page.get_by_role("button", name="Revoke", exact=True).click()
    page.get_by_role("button", name="Revoke 1 API token").click()
    expect(page.get_by_text("Revoked: 1.")).to_be_visible()
