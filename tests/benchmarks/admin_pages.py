"""What the admin's pages cost with 1,000,000 bookmarks and 100,000 user groups, beside the same ones with a few.

    DATABASE_URL=postgres://... python -m tests.benchmarks.admin_pages [ROWS] [CALLS]

Over Django's handlers, in a database of its own, by a superuser: milliseconds (medians) and queries, few and many rows.
"""

import random
import statistics
import sys
import tempfile
import time
from datetime import timedelta
from functools import partial
from pathlib import Path

from django.conf import settings
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import connection, connections
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from bookmarks.models import AccessToken, Bookmark, Collection
from tests.bookmarks_service.service import empty_database
from usergroups.models import Team, UserGroup

CHUNK = 10_000


def fill(number, bookmarks):
    """Make so many user groups, a token for each, a collection for every tenth, and bookmarks of the last 60 days."""
    chance = random.Random(number)
    teams = [Team.objects.get_or_create(name=f"Team {n}")[0] for n in range(min(number, 100))]
    groups = UserGroup.objects.bulk_create(
        (
            UserGroup(team=teams[n % len(teams)], provided_id=f"{number}-{n}", name=f"Group {n}", properties={"n": n})
            for n in range(number)
        ),
        batch_size=CHUNK,
    )
    tokens = [AccessToken(user_group=group, name="CI") for group in groups]
    for token in tokens:
        token.assign_secret()
    AccessToken.objects.bulk_create(tokens, batch_size=CHUNK)
    shelves = {group.pk: Collection(user_group=group, name="Reading list") for group in groups[::10]}
    Collection.objects.bulk_create(shelves.values(), batch_size=CHUNK)
    now = timezone.now()
    for start in range(0, bookmarks, CHUNK):
        rows = []
        for n in range(start, min(start + CHUNK, bookmarks)):
            group = groups[0] if n % 5 == 0 else chance.choice(groups)  # one has a fifth of all
            created_at = now - timedelta(seconds=chance.randrange(60 * 24 * 3600))
            url = f"https://example.com/{number}/{n}"
            shelf = shelves.get(group.pk)
            rows.append(Bookmark(user_group=group, collection=shelf, url=url, title=f"Page {n}", created_at=created_at))
        Bookmark.objects.bulk_create(rows)
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE" if connection.vendor == "postgresql" else "ANALYZE")


def pages():
    big = UserGroup.objects.order_by("pk").last()
    big = (
        Bookmark.objects.order_by("-created_at")[0].user_group
        if big is None
        else UserGroup.objects.get(provided_id=big.provided_id.partition("-")[0] + "-0")
    )
    small = UserGroup.objects.order_by("-pk")[0]
    shelf = Collection.objects.order_by("-pk")[0]
    bookmarks, groups, tokens = "bookmarks/bookmark/", "usergroups/usergroup/", "bookmarks/accesstoken/"
    complete = "autocomplete/?app_label=bookmarks&model_name=bookmark&field_name=user_group&term="
    return {
        "first page": "",
        "team": f"usergroups/team/{big.team_id}/change/",
        "user groups": groups,
        "user groups, last page": f"{groups}?p={min(100, UserGroup.objects.count() // 100 or 1)}",
        "user groups, one found": f"{groups}?q={small.provided_id}",
        "user groups, none found": f"{groups}?q=nowhere",
        "user groups of a team": f"{groups}?team__id__exact={big.team_id}",
        "user group, large": f"{groups}{big.pk}/change/",
        "access tokens": tokens,
        "access tokens, active": f"{tokens}?state=active",
        "access tokens, expired": f"{tokens}?state=expired",
        "access tokens, unused": f"{tokens}?use=unused",
        "access tokens of a team": f"{tokens}?user_group__team__id__exact={big.team_id}",
        "collections": "bookmarks/collection/",
        "bookmarks": bookmarks,
        "bookmarks, last page": f"{bookmarks}?p={min(100, Bookmark.objects.count() // 100 or 1)}",
        "bookmarks of a large group": f"{bookmarks}?user_group__id__exact={big.pk}",
        "bookmarks of a small group": f"{bookmarks}?user_group__id__exact={small.pk}",
        "bookmarks of a team": f"{bookmarks}?user_group__team__id__exact={small.team_id}",
        "bookmarks of a collection": f"{bookmarks}?collection__id__exact={shelf.pk}",
        "bookmarks, many found": f"{bookmarks}?q=Page",
        "bookmarks, none found": f"{bookmarks}?q=nowhere",
        "choosing a group": f"{complete}Group",
        "choosing a group, one found": f"{complete}{small.provided_id}",
        "deleting a large group": f"{groups}{big.pk}/delete/",
    }


def texts():
    """Return what to look for with the search field in the header."""
    token = AccessToken.objects.order_by("-pk")[0]
    secret = token.assign_secret()
    token.save()
    return {
        "finding a secret": secret,
        "finding a token by its beginning": token.hint,
        "finding an id of a user group": token.user_group.provided_id,
        "finding a URL": Bookmark.objects.order_by("-pk")[0].url,
        "finding many": "Group",
        "finding nothing": "nowhere",
    }


def measure(client, calls):
    requests = {name: partial(client.get, f"/admin/{path}") for name, path in pages().items()}
    requests |= {name: partial(client.post, "/admin/find/", {"text": text}) for name, text in texts().items()}
    figures = {}
    for name, request in requests.items():
        times = []
        for _ in range(calls):
            start = time.perf_counter()
            response = request()
            times.append((time.perf_counter() - start) * 1000)
            assert response.status_code in (200, 302), (name, response.status_code)
        with CaptureQueriesContext(connection) as queries:
            request()
        slowest = max(queries, key=lambda query: float(query["time"]))
        figures[name] = (statistics.median(times), len(queries), slowest)
    return figures


def main(rows=1_000_000, calls=5):
    with tempfile.TemporaryDirectory() as folder, empty_database(Path(folder)) as url:
        name = url.removeprefix("sqlite:///") if connection.vendor == "sqlite" else url.rpartition("/")[2]
        connection.settings_dict["NAME"] = name
        settings.ALLOWED_HOSTS = ["testserver"]
        call_command("migrate", verbosity=0)
        client = Client()
        client.force_login(User.objects.create_superuser("operator"))
        fill(10, 100)
        few = measure(client, calls)
        fill(rows // 10, rows)
        many = measure(client, calls)
        for page, (milliseconds, queries, slowest) in many.items():
            before = few[page]
            print(f"{page:32} {before[0]:7.1f} ms {milliseconds:8.1f} ms  {before[1]:3} {queries:3} queries")
            if milliseconds > 200:
                print(f"    {slowest['time']} s: {slowest['sql'][:2000]}")
        connections.close_all()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
