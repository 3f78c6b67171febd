"""How long an export takes, and how much memory, beside one statement that a server-side cursor reads.

    [DATABASE_URL=postgres://...] python -m tests.benchmarks.export_bookmarks [ROWS] [COLLECTIONS]

Both read the same user group in turn, each in a process of its own, and the results are compared. The database is
filled with COLLECTIONS + 1 equal shares, one of them in no collection.
"""

import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from datetime import timedelta
from pathlib import Path

import django

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")
    django.setup()

from django.core.management import call_command
from django.db import connection
from django.db.models import F
from django.utils import timezone

from bookmarks import web_url
from bookmarks.files import jsonl
from bookmarks.files.exporting import load
from bookmarks.models import Bookmark, Collection
from tests.bookmarks_service.service import empty_database
from usergroups.models import Team, UserGroup

PROGRAM = "from tests.benchmarks.export_bookmarks import report; report('{}')"


def fill(rows, collections):
    now = timezone.now()
    for name in ("other", "measured"):
        user_group = UserGroup.objects.create(
            team=Team.objects.create(name=name), environment="", provided_id=name, name=name
        )
        places = [None, *(Collection(user_group=user_group, name=str(n)) for n in range(collections))]
        Collection.objects.bulk_create(places[1:], batch_size=1000)
        Bookmark.objects.bulk_create(
            (
                Bookmark(
                    user_group=user_group, collection=places[n % len(places)], title=f"Article {n}",
                    url=(url := f"https://example.com/{n}"), url_digest=web_url.digest(url),
                    created_at=now - timedelta(seconds=n),
                )
                for n in range(rows)
            ),
            batch_size=2000,
        )  # fmt: skip
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")


def by_cursor(user_group):
    rows = Bookmark.objects.filter(user_group=user_group).select_related("collection")
    return rows.order_by(F("collection_id").asc(nulls_first=True), "created_at", "pk").iterator(chunk_size=2000)


def report(name):
    """Print the seconds, the additional memory in MiB, and the digest of an export."""
    django.setup()
    connection.settings_dict["DISABLE_SERVER_SIDE_CURSORS"] = False
    user_group = UserGroup.objects.get(name="measured")
    read = {"cursor": by_cursor, "pages": load}[name]
    # ru_maxrss would include the memory of the process that started this one.
    Path("/proc/self/clear_refs").write_text("5")
    before, start, digest = peak_memory(), time.perf_counter(), hashlib.sha256()
    for line in jsonl.write(read(user_group)):
        digest.update(line.encode())
    seconds = time.perf_counter() - start
    print(json.dumps([seconds, peak_memory() - before, digest.hexdigest()]))


def peak_memory():
    """Return the peak memory of this process on Linux, in MiB."""
    return int(re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())[1]) / 1024


def main(rows=200_000, collections=20, rounds=3):
    with tempfile.TemporaryDirectory() as folder, empty_database(Path(folder)) as url:
        connection.settings_dict["NAME"] = url.removeprefix("sqlite:///") if "sqlite" in url else url.rpartition("/")[2]
        call_command("migrate", verbosity=0)
        fill(rows, collections)
        environment = {**os.environ, "DATABASE_URL": url}
        for _ in range(rounds):
            figures = {}
            for name in ("cursor", "pages"):
                command = [sys.executable, "-c", PROGRAM.format(name)]
                result = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
                seconds, memory, figures[name, "digest"] = json.loads(result.stdout)
                figures[name] = seconds
                print(f"{name}: {seconds:.2f} s, {memory:.0f} MiB", end="; ")
            same = figures["cursor", "digest"] == figures["pages", "digest"]
            print(f"ratio {figures['pages'] / figures['cursor']:.2f}, the same text: {same}")
        connection.close()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
