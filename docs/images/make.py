"""Make the pictures of the admin in this folder.

    python docs/images/make.py

Run the service on a temporary SQLite database with made-up data, and take
pictures of its admin in Chromium. This needs the packages of the extras
``service`` and ``test``, and a ``chromium`` on the path.
"""

import shutil
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

FOLDER = Path(__file__).parent
sys.path.insert(0, str(FOLDER.parents[1]))

from tests.bookmarks_service.service import Service  # noqa: E402

WIDTH, HEIGHT = 1280, 800
MAX_SIZE = 150 * 1024  # bytes

SAMPLE_DATA = """
import random
from datetime import timedelta

from django.contrib.auth.models import User
from django.utils import timezone

from bookmarks.models import AccessToken, Bookmark, Collection
from usergroups.events import Event, Kind, events_about, record_events
from usergroups.models import ApiToken, Team, UserGroup
from usergroups.signals import acting_as

Team.objects.all().delete()
Event.objects.all().delete()
chance = random.Random(7)  # the same data each time
now = timezone.now()
operator = User.objects.get()
managers = [User.objects.create(username=name, is_staff=True) for name in ("ines", "tomas")]


def days_ago(days):
    return now - timedelta(days=days)


def log(user, obj, kind, days, changes=None):
    [event] = events_about(kind, [obj], changes=changes)
    event.at = days_ago(days)
    with acting_as(user):
        record_events([event])


northwind, lighthouse = (Team.objects.create(name=name) for name in ("Northwind Analytics", "Lighthouse BI"))
tokens = [
    (northwind, "Customer", "Nightly sync", False, None, 0.01),
    (northwind, "Testing", "Continuous integration", False, 9, 0.2),
    (northwind, "Customer", "Reporting", True, None, 1.2),
    (lighthouse, "", "Provisioning", False, 5, 0.05),
    (lighthouse, "", "Migration of 2025", False, None, None),
    (lighthouse, "", "Old provisioning", False, -12, 14),
]
for team, environment, name, read_only, expires_in, used in tokens:
    token, _ = ApiToken.objects.issue(
        team=team, environment=environment, name=name, read_only=read_only, created_at=days_ago(200),
        expires_at=expires_in and now + timedelta(days=expires_in), last_used_at=used and days_ago(used),
    )
    if name == "Reporting":
        log(operator, token, Kind.ADDED, 6)
    if name == "Migration of 2025":
        token.revoke()
        Event.objects.all().delete()
        log(managers[0], token, Kind.REVOKED, 3)

names = ["Acme Logistics", "Blue Harbor Hotels", "Cedar Health", "Delta Foods", "Evergreen Retail", "Fjord Energy"]
groups = []
for number, name in enumerate(names):
    slug = name.lower().replace(" ", "-")
    groups.append(
        UserGroup.objects.create(
            team=northwind, environment="Customer", provided_id=slug, name=name,
            mapping={"40": "warehouse_eu", "41": 100 + number},
            properties={"plan": "pro", "region": "EU", "seats": 25},
            created_at=days_ago(40 - 6 * number), updated_at=days_ago(2),
        )
    )
    token, _ = AccessToken.objects.issue(
        user_group=groups[-1], name="Dashboard", created_at=days_ago(100), last_used_at=days_ago(0.1 * number)
    )
    choices = [None, *(Collection.objects.create(user_group=groups[-1], name=n) for n in ("Reports", "Reading list"))]
    for page in range(60):
        moment = days_ago(chance.triangular(0, 34, 2))
        Bookmark.objects.add(
            user_group=groups[-1], url=f"https://{slug}.example/reports/{page}", title=f"Report {page}",
            collection=chance.choice(choices), created_at=moment,
        )
log(managers[1], groups[0], Kind.CHANGED, 1, {"name": ["Acme", "Acme Logistics"]})
log(managers[0], groups[0], Kind.ROTATED, 0.1)
"""


def main() -> None:
    """Start the service with sample data and take all pictures."""
    with (
        tempfile.TemporaryDirectory() as name,
        Service(Path(name), f"sqlite:///{name}/db.sqlite3") as service,
    ):
        result = service.manage("shell", "--no-imports", "-c", SAMPLE_DATA)
        if result.returncode:
            sys.exit(result.stderr)
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(
                executable_path=shutil.which("chromium"), args=["--no-sandbox"]
            )
            page = browser.new_page(
                base_url=service.base_url,
                viewport={"width": WIDTH, "height": HEIGHT},
                color_scheme="light",
            )
            page.set_default_timeout(60_000)  # milliseconds
            take_pictures(page, service.password)
            browser.close()


def take_pictures(page: Page, password: str) -> None:
    """Log in and take a picture of each page."""
    page.goto("/admin/")
    page.locator("#id_username").fill("operator")
    page.locator("#id_password").fill(password)
    page.locator("[type=submit]").click()
    page.wait_for_url("**/admin/")
    save(page, "overview.png")

    page.goto("/admin/usergroups/apitoken/")
    save(page, "tokens.png")

    page.goto("/admin/usergroups/usergroup/?q=acme-logistics")
    page.locator("#result_list tbody th a").first.click()
    page.wait_for_load_state("load")
    save(page, "user-group.png", full_page=True)


def save(page: Page, name: str, full_page: bool = False) -> None:
    """Save a picture of the page.

    Exit with an error if the file is too large for the repository.
    """
    path = FOLDER / name
    page.screenshot(path=path, full_page=full_page, animations="disabled")
    size = path.stat().st_size
    print(f"{path.name}: {size:,} bytes")
    if size > MAX_SIZE:
        sys.exit(f"{path.name} is larger than {MAX_SIZE:,} bytes.")


if __name__ == "__main__":
    main()
