"""Single sign-on in a browser. No test here uses the database itself, because Playwright runs an event loop."""

import pytest
from playwright.sync_api import expect

from tests.admin.browser import browser, needs_chromium, new_page  # noqa: F401
from tests.bookmarks_service.identity_provider import CLIENT_ID, CLIENT_SECRET, identity_provider
from tests.bookmarks_service.service import Service, empty_database


@pytest.fixture
def provider():
    with identity_provider() as running:
        running.roles = ["Operators"]
        yield running


@pytest.fixture
def service(provider, tmp_path):
    """Run the service without passwords."""
    variables = {"OIDC_ISSUER": provider.issuer, "OIDC_CLIENT_ID": CLIENT_ID, "OIDC_CLIENT_SECRET": CLIENT_SECRET}
    with (
        empty_database(tmp_path) as database_url,
        Service(tmp_path, database_url, PASSWORD_LOGIN="0", **variables) as service,
    ):
        result = service.manage("create_roles")
        assert result.returncode == 0, result.stderr
        yield service


@needs_chromium
@pytest.mark.once
def test_an_operator_signs_in_with_a_browser(browser, service):  # noqa: F811
    with new_page(browser, service) as page:
        page.goto("/admin/usergroups/apitoken/?q=quick")
        expect(page.get_by_role("heading", name="Log in", level=1)).to_be_visible()
        expect(page.get_by_label("Password")).to_have_count(0)
        for width in (390, 1024, 1440):
            page.set_viewport_size({"width": width, "height": 800})
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), width
        page.get_by_role("link", name="Sign in with single sign-on").press("Enter")

        expect(page.get_by_role("heading", name="API tokens")).to_be_visible()
        assert page.url == f"{service.base_url}/admin/usergroups/apitoken/?q=quick"
        expect(page.locator("#user-tools")).to_contain_text("Anna Schmidt")
        expect(page.get_by_role("link", name="Change password")).to_have_count(0)

        page.get_by_role("button", name="Log out").click()
        page.goto("/admin/")
        page.get_by_role("link", name="Sign in with single sign-on").click()
        expect(page.get_by_role("heading", name="Overview")).to_be_visible()
    log = service.log.read_text()
    assert "/admin/single-sign-on/callback/" in log
    assert not any(secret in log for secret in ("state=", "code=", CLIENT_SECRET, "anna@example.com"))
