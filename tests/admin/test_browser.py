"""The admin and the documentation page in Debian's Chromium, with the service as quickstart starts it."""

import re
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
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium is installed")

FILL = """
from usergroups.models import Team, UserGroup

team = Team.objects.get()
groups = (UserGroup(team=team, provided_id=f"customer-{n}", name=f"Customer {n}") for n in range(10_100))
UserGroup.objects.bulk_create(groups)
"""


@pytest.fixture(scope="module")
def service():
    """Run with more user groups than the admin lists."""
    with (
        tempfile.TemporaryDirectory() as name,
        empty_database(Path(name)) as database_url,
        Service(Path(name), database_url) as service,
    ):
        result = service.manage("shell", "--no-imports", "-c", FILL)
        assert result.returncode == 0, result.stderr
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


def update(service, secret, **fields):
    body = {"user_group_id": "example_1", **fields}
    return service.request("PUT", "/api/user", json=body, headers={"Authorization": f"Token {secret}"})


def test_an_api_token_is_issued_used_rotated_and_revoked(service, page):
    page.get_by_role("link", name="API tokens", exact=True).first.click()
    page.get_by_role("link", name="Add API token").click()
    choose(page, "#id_team", "dem", "Demo")
    page.get_by_label("Name").fill("Nightly sync")
    page.get_by_role("button", name="Save").click()

    # The secret is shown, copied and used.
    expect(page.get_by_text("This is the only time that the secret is shown.")).to_be_visible()
    page.get_by_role("button", name="Copy").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    secret = clipboard(page)
    assert update(service, secret).status_code == 200

    # The list shows the last use, and does not show the secret again.
    page.get_by_role("link", name="Back to API tokens").click()
    page.locator("#searchbar").fill("nightly")
    page.get_by_role("button", name="Search").click()
    row = page.get_by_role("row", name=re.compile("Nightly sync"))
    expect(row.locator(".badge")).to_have_text("Active")
    expect(row.locator(".field-last_used")).to_contain_text("ago")
    assert secret not in page.content()

    # The token is rotated, and both secrets work during the grace period.
    row.get_by_role("link").first.click()
    page.get_by_role("button", name="Rotate").click()
    page.get_by_label("Old token expires").select_option("after 1 hour")
    page.get_by_role("button", name="Rotate").click()
    page.get_by_role("button", name="Copy").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    successor = clipboard(page)
    assert successor != secret
    assert [update(service, each).status_code for each in (secret, successor)] == [200, 200]

    # The successor is revoked, and the API refuses it.
    page.get_by_role("link", name="View token").click()
    page.get_by_role("button", name="Revoke").click()
    expect(page.get_by_text("This cannot be undone.")).to_be_visible()
    page.get_by_role("button", name="Revoke").click()
    expect(page.get_by_text("Revoked: 1.")).to_be_visible()
    assert [update(service, each).status_code for each in (secret, successor)] == [200, 401]
    expect(page.locator(".badge")).to_have_text("Revoked")


def test_an_action_can_be_cancelled(page):
    page.goto("/admin/usergroups/apitoken/")
    page.get_by_role("row", name=re.compile("quickstart")).get_by_role("checkbox").check()
    page.get_by_label("Action:").select_option("Revoke selected API tokens")
    page.locator(".actions button[name=index]").click()
    page.get_by_role("link", name="No, take me back").click()

    expect(page.get_by_role("row", name=re.compile("quickstart")).locator(".badge")).to_have_text("Active")


def test_properties_are_edited_and_the_user_group_token_is_rotated(service, page):
    page.goto("/admin/usergroups/usergroup/?q=example_1")
    page.get_by_role("link", name="Example 1").first.click()
    page.get_by_label("Properties").fill('{"plan": "pro", "seats": 1e999}')
    page.get_by_role("button", name="Save and continue editing").click()
    expect(page.get_by_text("The JSON contains a number that is too large.")).to_be_visible()

    page.get_by_label("Properties").fill('{"plan": "pro", "seats": 12345678901234567890}')
    page.get_by_role("button", name="Save and continue editing").click()
    expect(page.get_by_text("was changed successfully")).to_be_visible()
    expect(page.get_by_label("Properties")).to_have_value('{\n  "plan": "pro",\n  "seats": 12345678901234567890\n}')
    told = update(service, service.api_token).json()["user_group"]
    assert told["properties"] == {"plan": "pro", "seats": 12345678901234567890}

    # The token is hidden until it is revealed.
    expect(page.get_by_text(told["token"])).to_be_hidden()
    page.get_by_text("Reveal").click()
    expect(page.get_by_text(told["token"])).to_be_visible()
    page.get_by_role("button", name="Copy").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    assert clipboard(page) == told["token"]

    page.get_by_role("button", name="Rotate token").click()
    page.get_by_role("button", name="Rotate").click()
    expect(page.get_by_text("User group tokens rotated: 1.")).to_be_visible()
    assert update(service, service.api_token).json()["user_group"]["token"] != told["token"]


def test_a_user_group_is_found_among_many(service, page):
    page.goto("/admin/usergroups/usergroup/")
    expect(page.get_by_text("Only the first 10,000 are listed.")).to_be_visible()
    page.locator("#searchbar").fill("customer-5432")
    page.get_by_role("button", name="Search").click()
    expect(page.locator("#result_list tbody tr")).to_have_count(1)

    # The group is also found in the form and in the filter of bookmarks.
    page.goto("/admin/bookmarks/bookmark/add/")
    choose(page, "#id_user_group", "customer-7777", "Customer 7777 (Demo, customer-7777)")
    page.get_by_label("URL").fill("https://example.com/found")
    page.get_by_role("button", name="Save", exact=True).click()
    page.goto("/admin/bookmarks/bookmark/")
    choose(page, "#filter_user_group__id__exact", "customer-7777", "Customer 7777")
    page.locator("details", has_text="By user group").get_by_role("button", name="Filter").click()
    expect(page.locator("#result_list tbody tr")).to_have_count(1)
    opened = page.get_by_role("link", name="Open")
    expect(opened).to_have_attribute("href", "https://example.com/found")

    # The form reports a duplicate.
    page.goto("/admin/bookmarks/bookmark/add/")
    choose(page, "#id_user_group", "customer-7777", "Customer 7777")
    page.get_by_label("URL").fill("HTTPS://EXAMPLE.COM:443/found")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text("A bookmark with this URL already exists in the same collection.")).to_be_visible()


def test_thousands_of_bookmarks_are_deleted(service, page):
    urls = [f"https://example.com/{n}" for n in range(2500)]
    for start in (0, 1000, 2000):
        body = {"bookmarks": [{"url": url} for url in urls[start : start + 1000]]}
        headers = {"Authorization": f"Bearer {service.access_token}"}
        made = service.request("POST", "/v1/bookmarks/batch", json=body, headers=headers)
        assert made.status_code == 200

    page.goto("/admin/bookmarks/bookmark/")
    choose(page, "#filter_user_group__id__exact", "example_1", "Example 1")
    page.locator("details", has_text="By user group").get_by_role("button", name="Filter").click()
    page.locator("#action-toggle").check()
    page.get_by_text("Select all 2500 bookmarks").click()
    page.get_by_label("Action:").select_option("Delete selected bookmarks")
    page.locator(".actions button[name=index]").click()
    expect(page.get_by_role("heading", name="Delete 2,500 bookmarks")).to_be_visible()
    page.get_by_role("button", name="Delete").click()
    expect(page.get_by_text("Deleted 2,500 bookmarks.")).to_be_visible()


@pytest.mark.parametrize(
    "path", ["/", "/docs/", "/admin/password_change/", "/admin/auth/user/", "/admin/auth/user/add/"]
)
def test_other_pages_comply_with_the_content_security_policy(page, path):
    page.goto(path)
    page.wait_for_load_state("networkidle")

    expect(page.locator("body")).to_contain_text(re.compile(r"\w"))


PATHS = ("", "usergroups/usergroup/", "usergroups/usergroup/1/change/", "usergroups/apitoken/",
         "usergroups/apitoken/1/change/", "bookmarks/bookmark/", "bookmarks/bookmark/import/")  # fmt: skip


@pytest.mark.parametrize("width", [360, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_page_is_wider_than_the_screen(service, page, width, scheme):
    page.set_viewport_size({"width": width, "height": 800})
    page.emulate_media(color_scheme=scheme)
    for path in PATHS:
        page.goto(f"/admin/{path}")
        assert page.evaluate("document.documentElement.scrollWidth") <= width, path


@pytest.mark.parametrize("width", [360, 1280])
def test_no_german_page_is_wider_than_the_screen(browser, service, session, width):
    viewport = {"width": width, "height": 800}
    with new_page(browser, service, storage_state=session, locale="de-DE", viewport=viewport) as page:
        for path in PATHS:
            page.goto(f"/admin/{path}")
            assert page.evaluate("document.documentElement.lang") == "de"
            assert page.evaluate("document.documentElement.scrollWidth") <= width, path


def test_the_copy_button_is_german(browser, service, session):
    with new_page(browser, service, storage_state=session, locale="de-DE") as page:
        page.goto("/admin/usergroups/usergroup/1/change/")
        page.get_by_text("Anzeigen").last.click()
        page.get_by_role("button", name="Kopieren").click()
        expect(page.get_by_role("button", name="Kopiert")).to_be_visible()


def test_pages_can_be_used_with_the_keyboard_alone(page):
    page.goto("/admin/usergroups/usergroup/1/change/")
    page.get_by_role("button", name="Rotate token").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Rotate the token of 1 user group")).to_be_visible()
    page.get_by_role("link", name="No, take me back").focus()
    page.keyboard.press("Enter")
    page.locator("details.reveal summary").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_text("ugt_").last).to_be_visible()
