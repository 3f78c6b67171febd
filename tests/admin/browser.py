"""Fixtures and steps for tests in Debian's Chromium, with the service as quickstart starts it."""

import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import expect, sync_playwright

from tests.bookmarks_service.service import Service, empty_database

TIMEOUT = 120_000  # milliseconds
expect.set_options(timeout=TIMEOUT)

CHROMIUM = shutil.which("chromium")
needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="no chromium is installed")

FILL = """
from usergroups.models import Team, UserGroup

team = Team.objects.get()
groups = (UserGroup(team=team, provided_id=f"customer-{n}", name=f"Customer {n}") for n in range(10_100))
UserGroup.objects.bulk_create(groups)
"""


@contextmanager
def filled_service(script):
    """Run the service after this script has filled its database."""
    with (
        tempfile.TemporaryDirectory() as name,
        empty_database(Path(name)) as database_url,
        Service(Path(name), database_url) as service,
    ):
        result = service.manage("shell", "--no-imports", "-c", script)
        assert result.returncode == 0, result.stderr
        yield service


@pytest.fixture(scope="session")
def service():
    """Run with more user groups than the admin lists. All modules share this service, so each adds its own rows."""
    with filled_service(FILL) as service:
        yield service


@pytest.fixture(scope="module")
def browser():
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@contextmanager
def new_page(browser, service, **options):
    """Open a page, and fail at the end if the console, a script or the server reported an error."""
    permissions = ["clipboard-read", "clipboard-write"]
    context = browser.new_context(base_url=service.base_url, permissions=permissions, **options)
    context.set_default_timeout(TIMEOUT)
    page = context.new_page()
    errors = []
    page.on("console", lambda message: errors.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("response", lambda response: errors.append(response.url) if response.status >= 400 else None)
    try:
        yield page
    finally:
        context.close()
    assert errors == []


@pytest.fixture(scope="module")
def session(browser, service):
    """The cookies of an operator who is logged in."""
    with new_page(browser, service) as page:
        log_in(page, service.password)
        expect(page.get_by_role("heading", name="Overview")).to_be_visible()
        yield page.context.storage_state()


@pytest.fixture
def page(browser, service, session):
    with new_page(browser, service, storage_state=session) as page:
        page.goto("/admin/")
        yield page


def log_in(page, password):
    page.goto("/admin/")
    page.get_by_label("Username").fill("operator")
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Log in").click()


def choose(page, field, text, option):
    """Search for a row in an autocompletion field and choose it."""
    page.locator(f"{field} + .select2").click()
    page.locator(".select2-search__field").fill(text)
    page.locator(".select2-results__option", has_text=option).first.click()


def clipboard(page):
    return page.evaluate("navigator.clipboard.readText()")
