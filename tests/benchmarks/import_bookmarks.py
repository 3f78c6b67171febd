"""How fast import_bookmarks is beside PostgreSQL's own COPY of the same rows into the same table with its indexes.

    DATABASE_URL=postgres://... python -m tests.benchmarks.import_bookmarks [ROWS] [ROUNDS]

Both are measured in turn in one run, in a database of its own; the figure is COPY's time over the import's.
"""

import json
import resource
import sys
import tempfile
import time
from pathlib import Path

from django.core.management import call_command
from django.db import connection

from tests.bookmarks_service.service import empty_database
from usergroups.models import Team, UserGroup

TABLE = "bookmarks_bookmark"


def timed(action):
    with connection.cursor() as cursor:
        cursor.execute("CHECKPOINT")
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def write_file(path, rows):
    with path.open("w") as file:
        for n in range(rows):
            record = {
                "url": f"https://example-{n % 1000}.com/articles/{n}?page={n % 7}",
                "title": f"Article {n}",
                "collection": None if n % 2 else f"Collection {n % 20}",
                "created_at": f"2026-01-01T{n // 3600 % 24:02}:{n // 60 % 60:02}:{n % 60:02}.{n % 1000000:06}Z",
            }
            file.write(json.dumps(record) + "\n")


def main(rows, rounds):
    with tempfile.TemporaryDirectory() as folder, empty_database(Path(folder)) as url:
        connection.settings_dict["NAME"] = url.rpartition("/")[2]
        call_command("migrate", verbosity=0)
        UserGroup.objects.create(team=Team.objects.create(name="Acme"), provided_id="a", name="A")
        source, copied = Path(folder) / "bookmarks.jsonl", Path(folder) / "rows"
        write_file(source, rows)

        def by_import():
            call_command("import_bookmarks", str(source), "--team", "Acme", "--user-group", "a")

        def by_copy():
            with (
                connection.cursor() as cursor,
                cursor.copy(f"COPY {TABLE} FROM STDIN") as copy,
                copied.open("rb") as file,
            ):
                while block := file.read(1 << 20):
                    copy.write(block)

        for _ in range(rounds):
            import_seconds = timed(by_import)
            with connection.cursor() as cursor:
                with cursor.copy(f"COPY {TABLE} TO STDOUT") as copy, copied.open("wb") as file:
                    file.writelines(copy)
                cursor.execute(f"TRUNCATE {TABLE}")
            copy_seconds = timed(by_copy)
            with connection.cursor() as cursor:
                cursor.execute(f"TRUNCATE {TABLE}")
            print(
                f"import {rows / import_seconds:,.0f} rows/s, COPY {rows / copy_seconds:,.0f} rows/s, "
                f"ratio {copy_seconds / import_seconds:.2f}, "
                f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024} MiB"
            )
        connection.close()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:] or ["1000000"]), *([] if len(sys.argv) > 2 else [3]))
