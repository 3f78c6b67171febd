"""Fixtures and steps for tests in Debian's Chromium.

The service runs with the data of the command ``quickstart``.
"""

import tempfile
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import expect, sync_playwright

from tests.bookmarks_service.service import Service, empty_database
from tests.programs import find, needs

TIMEOUT = 120_000  # milliseconds
expect.set_options(timeout=TIMEOUT)

needs_chromium = needs("chromium")

LONG_NAMES_PK = 1000
"""The primary key of a team and of a user group that have long names.

So do the objects that belong to them.
"""

# The script has single braces where this f-string has doubled ones.
FILL = f"""
from datetime import timedelta
from django.contrib.auth.models import Group
from django.utils import timezone
from bookmarks.models import AccessToken, Bookmark, Collection
from usergroups.models import ApiToken, Team, UserGroup

demo, example, shelf, now = Team.objects.get(), UserGroup.objects.get(), Collection.objects.get(), timezone.now()
for model, owner in ((ApiToken, {{"team": demo}}), (AccessToken, {{"user_group": example}})):
    rotated, _ = model.objects.issue(name="Expiring", expires_at=now + timedelta(days=3), read_only=True, **owner)
    rotated.rotate(timedelta(days=1))
    for field in ("expires_at", "revoked_at", "last_used_at"):
        token, _ = model.objects.issue(name="CI", **owner)
        model.objects.filter(pk=token.pk).update(**{{field: now - timedelta(days=1)}})
urls = [f"https://example.com/{{'long/' * n}}" for n in range(20)]
Bookmark.objects.bulk_create(Bookmark(user_group=example, collection=shelf, url=url, title="A page") for url in urls)
Group.objects.create(name="Reviewers")

team = Team.objects.create(pk={LONG_NAMES_PK}, name="International Reporting and Business Intelligence Operations")
group = UserGroup.objects.create(
    pk={LONG_NAMES_PK}, team=team, environment="Customer", provided_id="4c2f1d0e-9d0b-5a43-8f7a-0d7f3f6f2c11",
    name="Consolidated Amalgamated Holdings of Northern Europe GmbH 1",
)
for model, owner in ((ApiToken, {{"team": team}}), (AccessToken, {{"user_group": group}})):
    for number in range(3):
        model.objects.issue(**owner, name="Nightly synchronisation of the customer relationship database")
collection = Collection.objects.create(user_group=group, name="Quarterly regulatory reporting references, guidelines")
path = "very-long-path-segment/" * 8
Bookmark.objects.bulk_create(
    Bookmark(user_group=group, collection=collection, title="Quarterly revenue by region " * 5,
             url=f"https://reports.example.com/dashboards/{{path}}?{{number}}")
    for number in range(90)
)

keys = Team.objects.create(name="Keys")
UserGroup.objects.bulk_create(UserGroup(team=keys, provided_id=f"customer-1{{n}}", name="Customer") for n in range(20))
for number in range(5):
    ApiToken.objects.issue(team=demo, name=f"Many {{number}}")
for team, name in ((demo, "Many more"), (keys, "Forgotten")):
    token, secret = ApiToken.objects.issue(team=team, name=name)
    print(secret)
"""
"""Adds tokens in every state and many bookmarks to the objects of
``quickstart``, objects with long names, and more bookmarks than a page lists,
and prints the secrets of two tokens.

The other lists are short, because axe-core takes seconds for a hundred rows.
"""


@pytest.fixture(scope="session")
def service():
    """Run the service with the data of FILL, and what the script printed in the
    attribute ``printed``.
    """
    with (
        tempfile.TemporaryDirectory() as name,
        empty_database(Path(name)) as database_url,
        Service(Path(name), database_url, GRANIAN_WORKERS="1") as service,
    ):
        result = service.manage("shell", "--no-imports", "-c", FILL)
        assert result.returncode == 0, result.stderr
        service.printed = result.stdout
        yield service


@pytest.fixture(scope="module")
def browser():
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=find("chromium"),
            args=["--no-sandbox"],  # so that root may run it
        )
        yield browser
        browser.close()


def new_context(browser, service):
    """Return a session of the browser, whose pages share cookies and cached
    files.
    """
    permissions = ["clipboard-read", "clipboard-write"]
    context = browser.new_context(base_url=service.base_url, permissions=permissions)
    context.set_default_timeout(TIMEOUT)
    return context


@contextmanager
def new_page(context):
    """Open a page, and fail at the end if the console, a script or the server
    reported an error.
    """
    errors = []

    def check_entry(entry):
        if entry.type in ("error", "warning"):
            errors.append(entry.text)

    def check_response(response):
        if response.status >= 400:
            errors.append(response.url)

    with context.new_page() as page:
        page.on("console", check_entry)
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("response", check_response)
        yield page
    assert errors == []


@pytest.fixture(scope="module")
def context(browser, service):
    """Return a session in which an operator is logged in."""
    with new_context(browser, service) as context:
        with new_page(context) as page:
            log_in(page, service.password)
            expect(page.get_by_role("heading", name="Overview")).to_be_visible()
        yield context


@pytest.fixture
def page(context):
    """Return a page in the session of the operator."""
    with new_page(context) as page:
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
