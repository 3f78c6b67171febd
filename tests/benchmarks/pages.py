"""What a page costs that is far in, beside the first one, among 1,000,000 bookmarks of one group.

    DATABASE_URL=postgres://... python -m tests.benchmarks.pages [ROWS] [CALLS]

Both are read in turn, over Django's handlers, in a database of its own; the figure is the ratio of the medians. The
plans of the queries are printed too.
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

# Ten of one instant; every tenth in the collection.
FILL = """
    INSERT INTO bookmarks_bookmark (id, user_group_id, collection_id, url, url_digest, title, created_at)
    SELECT gen_random_uuid(), %s, CASE WHEN n %% 10 = 0 THEN %s::uuid END, 'https://example.com/' || n,
           sha256(n::text::bytea), 'Title ' || n, '2026-01-01'::timestamptz + (n / 10) * interval '1 second'
    FROM generate_series(1, %s) AS n
"""


def main(rows=1_000_000, calls=200):
    with tempfile.TemporaryDirectory() as folder, empty_database(Path(folder)) as url:
        connection.settings_dict["NAME"] = url.rpartition("/")[2]
        settings.ALLOWED_HOSTS = ["testserver"]
        call_command("migrate", verbosity=0)
        group = UserGroup.objects.create(team=Team.objects.create(name="Acme"), provided_id="a", name="A")
        collection = Collection.objects.create(user_group=group, name="A")
        _, secret = AccessToken.objects.issue(user_group=group)
        with connection.cursor() as cursor:
            cursor.execute(FILL, [group.pk, collection.pk, rows])
            cursor.execute("VACUUM ANALYZE bookmarks_bookmark")

        client = Client(headers={"Authorization": f"Bearer {secret}"})
        far = Bookmark.objects.order_by("-created_at", "-id")[rows // 2 - 1]
        pages = {
            "page 1": {},
            "page 10,000": {"cursor": Cursor(far.created_at, far.pk, False).encode()},
            "back from it": {"cursor": Cursor(far.created_at, far.pk, True).encode()},
            "in the collection": {"collection": str(collection.pk)},
            "one URL": {"url": far.url},
            "since": {"created_since": far.created_at.isoformat()},
        }
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
            with connection.cursor() as cursor:
                cursor.execute("EXPLAIN (ANALYZE, BUFFERS, COSTS OFF, TIMING OFF) " + captured[-1]["sql"])
                print(f"\n{name}\n  " + "\n  ".join(line for (line,) in cursor))
        connection.close()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
