"""What calls cost as a user group grows, as multiples of the same calls on its smallest size.

    DATABASE_URL=postgres://... python -m tests.benchmarks.growth [ROUNDS] [SIZE ...]

Fills a database of its own with one user group of each size (10 thousand, 100 thousand, 1 million and 5 million
bookmarks by default), and makes each call on all of them in turn, with Django's handlers. Prints the median time of a
call on the smallest group, and for each larger one the median of the ratios within a round, with their quartiles. Then
it creates the text index of docs/measurements.md, and repeats the searches and the POST.
Needs the rights of a superuser.
"""

import itertools
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path

from django.conf import settings
from django.core.management import call_command
from django.db import connection
from django.test import Client

from bookmarks.models import AccessToken, Bookmark, Collection
from tests.benchmarks.capacity import execute
from tests.benchmarks.quartiles import ratios
from tests.bookmarks_service.service import ROOT, empty_database
from usergroups.contract.pagination import Cursor
from usergroups.models import ApiToken, Team, UserGroup

# Bookmarks of a year, a tenth of them in a collection, with URLs and titles of a usual length. The host "rare.example"
# has ten bookmarks of each group, in the middle of its list, and "early.example" the oldest tenth.
FILL = """
    INSERT INTO bookmarks_bookmark
        (id, url, url_digest, title, created_at, updated_at, user_group_id, collection_id)
    SELECT (lpad(to_hex((extract(epoch from moment) * 1000)::bigint), 12, '0') || '7' || substr(md5(n::text), 1, 3) ||
            'a' || substr(md5(%(group)s || 'x' || n), 1, 15))::uuid,
        url, sha256(url::bytea), 'The title of a page, of the usual length: ' || n, moment, moment, %(group)s,
        CASE WHEN n %% 10 = 0 THEN %(collection)s::uuid END
    FROM (SELECT n, '2025-11-01'::timestamptz + n * interval '1 year' / %(rows)s AS moment,
            'https://www.' || CASE WHEN n BETWEEN %(rows)s / 2 AND %(rows)s / 2 + 9 THEN 'rare.example'
                WHEN n < %(rows)s / 10 THEN 'early.example' ELSE 'site-' || n %% 5000 || '.example' END ||
                '/articles/' || md5(n::text) AS url
          FROM generate_series(1, %(rows)s) AS n) AS numbers
"""
SIZES = [10_000, 100_000, 1_000_000, 5_000_000]
NUMBERS = itertools.count()


class Group:
    """A user group with so many bookmarks, and a client for each of its two APIs."""

    def __init__(self, team, rows):
        self.group = UserGroup.objects.create(team=team, provided_id=str(rows), name=str(rows))
        self.collection = Collection.objects.create(user_group=self.group, name="A")
        with connection.cursor() as cursor:
            cursor.execute("SET session_replication_role = replica")  # without a lookup of each foreign key
            cursor.execute(FILL, {"group": self.group.pk, "collection": self.collection.pk, "rows": rows})
            cursor.execute("RESET session_replication_role")
        _, api_token = ApiToken.objects.issue(team=team)
        _, access_token = AccessToken.objects.issue(user_group=self.group)
        self.teams = Client(headers={"Authorization": f"Token {api_token}"})
        self.client = Client(headers={"Authorization": f"Bearer {access_token}"})
        bookmarks = Bookmark.objects.filter(user_group=self.group).order_by("-created_at", "-id")
        self.middle, self.last = bookmarks[rows // 2 - 1], bookmarks[rows - 50]

    def calls(self):
        """Return the method, URL, query or body, and client of each call, by name."""
        new, existing = f"https://www.site.example/new/{next(NUMBERS)}", self.middle.url
        cursors = {name: Cursor(row.created_at, row.pk, False).encode() for name, row in self.positions().items()}
        listed = {
            "GET the first page": {},
            "GET the middle page": {"cursor": cursors["middle"]},
            "GET the last page": {"cursor": cursors["last"]},
            "GET in the collection": {"collection": str(self.collection.pk)},
            "GET ?url= that exists": {"url": existing},
            "GET ?q= common": {"q": "TITLE of"},
            "GET ?q= rare": {"q": "rare.example"},
            "GET ?q= of the oldest tenth": {"q": "early.example"},
            "GET ?q= of two letters": {"q": "zz"},
        }
        return {
            "POST": ("post", "/v1/bookmarks", {"url": new, "title": "New"}),
            "POST a URL that exists": ("post", "/v1/bookmarks", {"url": existing}),
            "PATCH": ("patch", f"/v1/bookmarks/{self.middle.pk}", {"title": new}),
            "PUT /api/user": ("put", "/api/user", {"user_group_id": self.group.provided_id, "name": new}),
            **{name: ("get", "/v1/bookmarks", query) for name, query in listed.items()},
        }

    def positions(self):
        return {"middle": self.middle, "last": self.last}

    def call(self, name):
        """Make a call and return its seconds and the number of bookmarks in the response."""
        method, path, data = self.calls()[name]
        client = self.teams if path == "/api/user" else self.client
        data = data if method == "get" else json.dumps(data)
        extra = {} if method == "get" else {"content_type": "application/json"}
        start = time.perf_counter()
        response = getattr(client, method)(path, data, **extra)
        seconds = time.perf_counter() - start
        assert response.status_code == (201 if name == "POST" else 200), response.content
        return seconds, len(response.json().get("bookmarks", []))


def measure(groups, names, rounds):
    smallest, *larger = groups
    for name in names:
        seconds = {rows: [] for rows in groups}
        found = {}
        for _ in range(rounds):
            for rows, group in groups.items():
                taken, found[rows] = group.call(name)
                seconds[rows].append(taken)
        print(f"{name}: {statistics.median(seconds[smallest]) * 1000:.1f} ms", end="")
        for rows in larger:
            print(f" | {rows:,}: {ratios(seconds[rows], seconds[smallest])}", end="")
        print(f" | found {[*found.values()]}" if "?q=" in name else "", flush=True)


def text_index():
    """Return the statements of docs/measurements.md that create the text index."""
    _, _, rest = (ROOT / "docs/measurements.md").read_text().partition("## Searches\n")
    return rest.partition("```sql\n")[2].partition("```")[0].rstrip(";\n")


def main(rounds=200, *sizes):
    with tempfile.TemporaryDirectory() as folder, empty_database(Path(folder)) as url:
        connection.settings_dict["NAME"] = url.rpartition("/")[2]
        settings.ALLOWED_HOSTS = ["testserver"]
        settings.USERGROUPS_CALL_RATE = None
        call_command("migrate", verbosity=0)
        team = Team.objects.create(name="Acme")
        groups = {rows: Group(team, rows) for rows in sizes or SIZES}
        execute("VACUUM ANALYZE")
        names = list(groups[min(groups)].calls())
        measure(groups, names, rounds)
        start = time.perf_counter()
        for statement in text_index().split(";\n"):
            execute(statement)
        print(f"\nwith the text index, which took {time.perf_counter() - start:.0f} s")
        measure(groups, [name for name in names if "?q=" in name or name == "POST"], rounds)
        connection.close()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
