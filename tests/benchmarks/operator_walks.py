"""What an operator's most frequent tasks take in Chromium: clicks, key presses and seconds.

    python -m tests.benchmarks.operator_walks [REPETITIONS]

With 300 teams, 3,000 user groups, 2,000 tokens and 20,000 bookmarks. The seconds are medians of a scripted walk, and
an estimate of the keystroke-level model for an operator who knows the admin.
"""

import statistics
import sys
import tempfile
import time
from pathlib import Path

from playwright.sync_api import expect, sync_playwright

from tests.admin.browser import CHROMIUM, log_in
from tests.admin.walks import Walk, issue_for_new_team, revoke_leaked, show_bookmarks
from tests.bookmarks_service.service import Service

FILL = """
from bookmarks.models import AccessToken, Bookmark
from usergroups.models import ApiToken, Team, UserGroup

teams = Team.objects.bulk_create(Team(name=f"Team {n}") for n in range(300))
groups = UserGroup.objects.bulk_create(
    UserGroup(team=teams[n % 300], provided_id=f"customer-{n}", name=f"Customer {n}") for n in range(3000)
)
for n in range(1000):
    ApiToken.objects.issue(name="CI", team=teams[n % 300])
    AccessToken.objects.issue(name="CI", user_group=groups[n])
urls = (f"https://example.com/{n}" for n in range(20_000))
Bookmark.objects.bulk_create(
    (Bookmark(user_group=groups[n % 3000], url=url, title=f"Page {n}") for n, url in enumerate(urls)), batch_size=1000
)
print(*(ApiToken.objects.issue(team=team, name="Leaked")[1] for team in teams[:REPETITIONS]))
"""


def measure(page, name, walk_through, arguments):
    seconds = []
    for argument in arguments:
        page.goto("/admin/")
        walk = Walk(page)
        start = time.perf_counter()
        walk_through(walk, argument)
        seconds.append(time.perf_counter() - start)
    scripted = statistics.median(seconds)
    print(
        f"{name:28} {walk.clicks} clicks, {walk.fields} fields, {walk.keys} keys, "
        f"{scripted:.1f} s scripted, {walk.seconds:.0f} s estimated"
    )


def main(repetitions=5):
    with (
        tempfile.TemporaryDirectory() as folder,
        Service(Path(folder), f"sqlite:///{folder}/db.sqlite3") as service,
        sync_playwright() as playwright,
    ):
        filled = service.manage("shell", "--no-imports", "-c", FILL.replace("REPETITIONS", str(repetitions)))
        assert filled.returncode == 0, filled.stderr
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        context = browser.new_context(
            base_url=service.base_url,
            viewport={"width": 1440, "height": 900},
            permissions=["clipboard-read", "clipboard-write"],
        )
        page = context.new_page()
        log_in(page, service.password)
        expect(page.get_by_role("heading", name="Overview")).to_be_visible()
        measure(page, "leaked secret to revoked", revoke_leaked, filled.stdout.split())
        measure(page, "new team to its API token", issue_for_new_team, [f"Zebra {n}" for n in range(repetitions)])
        measure(
            page, "customer's id to bookmarks", show_bookmarks, [f"customer-{1000 + n}" for n in range(repetitions)]
        )
        browser.close()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
