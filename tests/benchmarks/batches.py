"""How fast batches of 1,000 items are beside single calls.

    DATABASE_URL=postgres://... python -m tests.benchmarks.batches [ROUNDS]

In each round, single calls and a batch are made in turn over Django's handlers, with all middleware, in a database of
its own. Rates are items a second of CPU time of this process and of elapsed time; ratios are of a batch to the single
calls of its round, as the median with the quartiles.
"""

import json
import sys
import tempfile
import time
from itertools import count
from pathlib import Path
from statistics import median

from django.conf import settings
from django.core.cache import cache
from django.core.management import call_command
from django.db import connection
from django.test import Client

from bookmarks.models import AccessToken, Bookmark, Collection
from tests.benchmarks.quartiles import ratios
from tests.bookmarks_service.service import empty_database
from usergroups.models import ApiToken, Team, UserGroup

SINGLE_CALLS = 50
BATCH = 1000

new = count()


def url():
    return f"https://example.com/{next(new)}"


class Operations:
    """For each operation, a function that makes single calls for a number of items, and one that makes a batch."""

    def __init__(self):
        team = Team.objects.create(name="Acme")
        self.group = UserGroup.objects.create(team=team, provided_id="a", name="A")
        self.collections = [Collection.objects.create(user_group=self.group, name=name) for name in "AB"]
        _, access = AccessToken.objects.issue(user_group=self.group)
        _, api = ApiToken.objects.issue(team=team)
        self.bookmarks_client = Client(headers={"Authorization": f"Bearer {access}"})
        self.groups_client = Client(headers={"Authorization": f"Token {api}"})

    def bookmarks(self, number):
        items = [{"url": url(), "title": "A title"} for _ in range(number)]
        return Bookmark.objects.add_many(self.group, items)

    def ids(self, number):
        return [str(bookmark.pk) for bookmark, _ in self.bookmarks(number)]

    def call(self, path, body=None, method="POST"):
        """Make a call that must succeed, for every item if it is a batch."""
        client = self.groups_client if path.startswith("/api/") else self.bookmarks_client
        response = client.generic(method, path, json.dumps(body) if body else "", content_type="application/json")
        answer = response.json()
        assert all(result["success"] for result in [answer, *answer.get("results", [])]), response.content[:200]

    def create_bookmarks(self, number):
        bodies = [{"url": url(), "title": "A title"} for _ in range(number)]
        return (
            lambda: [self.call("/v1/bookmarks", body) for body in bodies],
            lambda: self.call("/v1/bookmarks/batch", {"bookmarks": bodies}),
        )

    def find_bookmarks(self, number):
        bodies = [{"url": bookmark.url, "title": "A title"} for bookmark, _ in self.bookmarks(number)]
        return (
            lambda: [self.call("/v1/bookmarks", body) for body in bodies],
            lambda: self.call("/v1/bookmarks/batch", {"bookmarks": bodies}),
        )

    def delete_bookmarks(self, number):
        ids = self.ids(number)
        return (
            lambda: [self.call(f"/v1/bookmarks/{pk}", method="DELETE") for pk in ids],
            lambda: self.call("/v1/bookmarks/batch/delete", {"ids": ids}),
        )

    def move_bookmarks(self, number):
        ids, collection = self.ids(number), str(self.collections[0].pk)
        body = {"collection": collection}
        return (
            lambda: [self.call(f"/v1/bookmarks/{pk}", body, "PATCH") for pk in ids],
            lambda: self.call("/v1/bookmarks/batch/move", {"ids": ids, **body}),
        )

    def update_user_groups(self, number):
        team = self.group.team
        groups = [UserGroup(team=team, provided_id=f"group {next(new)}", name="A") for _ in range(number)]
        UserGroup.objects.bulk_create(groups)
        bodies = [{"user_group_id": group.provided_id, "name": "B", "mapping": {"1": 2}} for group in groups]
        return (
            lambda: [self.call("/api/user", body, "PUT") for body in bodies],
            lambda: self.call("/api/users/batch", {"user_groups": bodies}),
        )


def rates(items, action):
    """Return the items a second of elapsed time and of CPU time."""
    cache.clear()  # the counters of the rate limit
    starts = time.perf_counter(), time.process_time()
    action()
    ends = time.perf_counter(), time.process_time()
    return tuple(items / (end - start) for start, end in zip(starts, ends, strict=True))


def main(rounds=8):
    with tempfile.TemporaryDirectory() as folder, empty_database(Path(folder)) as database_url:
        name = database_url.rpartition("/")[2]
        connection.settings_dict["NAME"] = name if connection.vendor == "postgresql" else str(Path(folder) / name)
        settings.ALLOWED_HOSTS = ["testserver"]
        call_command("migrate", verbosity=0)
        operations = Operations()
        for name in ("create_bookmarks", "find_bookmarks", "move_bookmarks", "delete_bookmarks", "update_user_groups"):
            singles, batches = [], []
            for _ in range(rounds + 1):
                single, _ = getattr(operations, name)(SINGLE_CALLS)
                _, batch = getattr(operations, name)(BATCH)
                singles.append(rates(SINGLE_CALLS, single))
                batches.append(rates(BATCH, batch))
            # The first round fills caches.
            (single, single_cpu), (batch, batch_cpu) = (zip(*found[1:], strict=True) for found in (singles, batches))
            print(
                f"{name}: a batch {median(batch):,.0f} items/s, {ratios(batch, single)} times the rate of single "
                f"calls; by CPU time {ratios(batch_cpu, single_cpu)}"
            )
        connection.close()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
