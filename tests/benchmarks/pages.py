"""What a page costs that is far in, beside the first one, among 1,000,000 bookmarks of many groups.

    DATABASE_URL=postgres://... python -m tests.benchmarks.pages [ROWS] [CALLS]

Every second bookmark belongs to one of 1,000 small groups. Of the others, the older two fifths belong to an old group
and the rest to a new one. All pages are read in turn, over Django's handlers, in a database of its own; the figure is
the ratio of the medians. The plans of the queries are printed too. Then an index over the bookmarks of all groups by
time of creation is added, as bookmarks had before, and the first page of the old group is read again.
"""

import statistics
import sys
import tempfile
import time
from pathlib import Path

from django.conf import settings
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from bookmarks.models import AccessToken, Bookmark, Collection
from tests.bookmarks_service.service import empty_database
from usergroups.contract.pagination import Cursor
from usergroups.models import Team, UserGroup

# Ten of one instant; every fifth of the old group in its collection.
FILL = """
    INSERT INTO bookmarks_bookmark
        (id, user_group_id, collection_id, url, url_digest, title, created_at)
    SELECT gen_random_uuid(),
           CASE WHEN n %% 2 = 1 THEN %(small)s + n %% 1000 WHEN n <= %(rows)s * 2 / 5 THEN %(old)s ELSE %(new)s END,
           CASE WHEN n %% 10 = 0 AND n <= %(rows)s * 2 / 5 THEN %(collection)s::uuid END,
           'https://example.com/' || n, sha256(n::text::bytea), 'Title ' || n,
           '2026-01-01'::timestamptz + (n / 10) * interval '1 second'
    FROM generate_series(1, %(rows)s) AS n
"""
BY_CREATION = "CREATE INDEX by_creation ON bookmarks_bookmark (created_at, id)"


def measure(client, pages, calls):
    """Print the median time of each page, and its plan."""
    seconds = {name: [] for name in pages}
    for _ in range(calls):
        for name, query in pages.items():
            start = time.perf_counter()
            response = client.get("/v1/bookmarks", query)
            seconds[name].append(time.perf_counter() - start)
            assert response.status_code == 200, response.content
    first = statistics.median(seconds["page 1"])
    for name, taken in seconds.items():
        print(f"{name}: {statistics.median(taken) * 1000:.2f} ms, {statistics.median(taken) / first:.2f} of page 1")
    for name, query in pages.items():
        with CaptureQueriesContext(connection) as captured:
            client.get("/v1/bookmarks", query)
        [statement] = [query["sql"] for query in captured if 'FROM "bookmarks_bookmark"' in query["sql"]]
        with connection.cursor() as cursor:
            cursor.execute("EXPLAIN (ANALYZE, BUFFERS, COSTS OFF, TIMING OFF) " + statement)
            print(f"\n{name}\n  " + "\n  ".join(line for (line,) in cursor))


def main(rows=1_000_000, calls=200):
    with tempfile.TemporaryDirectory() as folder, empty_database(Path(folder)) as url:
        connection.settings_dict["NAME"] = url.rpartition("/")[2]
        settings.ALLOWED_HOSTS = ["testserver"]
        call_command("migrate", verbosity=0)
        team = Team.objects.create(name="Acme")
        old, new = (UserGroup.objects.create(team=team, provided_id=name, name=name) for name in ("old", "new"))
        small = UserGroup.objects.bulk_create(
            UserGroup(team=team, provided_id=f"small {n}", name="Small") for n in range(1000)
        )
        collection = Collection.objects.create(user_group=old, name="A")
        owners = {"old": old.pk, "new": new.pk, "small": small[0].pk}
        with connection.cursor() as cursor:
            cursor.execute(FILL, {"rows": rows, "collection": collection.pk, **owners})
            cursor.execute("VACUUM ANALYZE bookmarks_bookmark")

        far = Bookmark.objects.filter(user_group=old).order_by("-created_at", "-id")[rows // 10]
        pages = {
            "page 1": {},
            "oldest first": {"order": "oldest"},
            "the middle": {"cursor": Cursor(far.created_at, far.pk, False).encode()},
            "back from it": {"cursor": Cursor(far.created_at, far.pk, True).encode()},
            "in the collection": {"collection": str(collection.pk)},
            "one URL": {"url": far.url},
            "since": {"created_since": far.created_at.isoformat()},
        }
        for group in (old, new, small[0]):
            print(f"\n== {group.name}")
            _, secret = AccessToken.objects.issue(user_group=group)
            client = Client(headers={"Authorization": f"Bearer {secret}"})
            own = pages if group == old else {name: pages[name] for name in ("page 1", "oldest first")}
            measure(client, own, calls)
        with connection.cursor() as cursor:
            cursor.execute(BY_CREATION)
        print("\n== old, with an index over the bookmarks of all groups")
        _, secret = AccessToken.objects.issue(user_group=old)
        measure(Client(headers={"Authorization": f"Bearer {secret}"}), {"page 1": {}}, max(2, calls // 10))
        connection.close()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
