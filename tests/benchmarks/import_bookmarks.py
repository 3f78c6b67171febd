"""How fast import_bookmarks is beside the database's own copy of the same rows into the same table with its indexes.

    DATABASE_URL=postgres://... python -m tests.benchmarks.import_bookmarks [ROWS] [ROUNDS] [FORMAT...]

The copy is COPY on PostgreSQL, and INSERT with SELECT on SQLite. In each round, each format is imported twice, and then
the rows are copied. Rates are rows a second; ratios are of the rates within a round, as the median with the quartiles.
The CPU time of the command and that of PostgreSQL's process, if it runs on this machine, depend less on other load.
"""

import json
import os
import resource
import sys
import tempfile
import time
from collections import defaultdict
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from statistics import median

from django.core.management import call_command
from django.db import connection

from bookmarks.files import EXPORT_FORMATS
from bookmarks.files.exporting import load
from tests.benchmarks.quartiles import ratios
from tests.bookmarks_service.service import empty_database
from usergroups.models import Team, UserGroup

TABLE = "bookmarks_bookmark"


def execute(sql):
    with connection.cursor() as cursor:
        cursor.execute(sql)


def server_seconds():
    """Return the CPU time of this connection's process of PostgreSQL, or 0 if there is none on this machine."""
    pid = connection.connection.info.backend_pid if connection.vendor == "postgresql" else 0
    path = Path(f"/proc/{pid}/stat")
    if not pid or not path.exists():
        return 0.0
    user, system = path.read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def measured(action):
    """Return the seconds that the action takes, and the CPU time of this process and of PostgreSQL's."""
    if connection.vendor == "postgresql":
        execute("CHECKPOINT")
    starts = time.perf_counter(), time.process_time(), server_seconds()
    with redirect_stdout(StringIO()):
        action()
    ends = time.perf_counter(), time.process_time(), server_seconds()
    return tuple(end - start for start, end in zip(starts, ends, strict=True))


def write_json_lines(path, rows):
    with path.open("w") as file:
        for n in range(rows):
            record = {
                "url": f"https://example-{n % 1000}.com/articles/{n}?page={n % 7}",
                "title": f"Article {n}",
                "collection": None if n % 2 else f"Collection {n % 20}",
                "created_at": f"2026-01-01T{n // 3600 % 24:02}:{n // 60 % 60:02}:{n % 60:02}.{n % 1000000:06}Z",
            }
            file.write(json.dumps(record) + "\n")


def import_file(path):
    call_command("import_bookmarks", str(path), "--team", "Acme", "--user-group", "a")


def copy_by_postgresql(copied):
    with connection.cursor() as cursor, cursor.copy(f"COPY {TABLE} FROM STDIN") as copy, copied.open("rb") as file:
        while block := file.read(1 << 20):
            copy.write(block)


def copy_measured(folder):
    """Replace the rows by a copy of them, and return what the copy takes."""
    if connection.vendor == "sqlite":
        execute(f"CREATE TABLE copied AS SELECT * FROM {TABLE}")
        execute(f"DELETE FROM {TABLE}")
        figures = measured(lambda: execute(f"INSERT INTO {TABLE} SELECT * FROM copied"))
        execute("DROP TABLE copied")
        return figures
    copied = folder / "rows"
    with connection.cursor() as cursor, cursor.copy(f"COPY {TABLE} TO STDOUT") as copy, copied.open("wb") as file:
        file.writelines(copy)
    execute(f"TRUNCATE {TABLE}")
    return measured(lambda: copy_by_postgresql(copied))


def report(rows, name, figures, copies):
    """Print the figures of all rounds of one run of a format."""
    seconds, client, server = zip(*figures, strict=True)
    to_copies = ratios([copy[0] for copy in copies], seconds)
    per_row = [f"{median(values) / rows * 1e6:.1f}" for values in (client, server)]
    print(
        f"{name}: {rows / median(seconds):,.0f} rows/s, {to_copies} of the copy's rate; "
        f"CPU time a row: {per_row[0]} us, of the server {per_row[1]} us"
    )


def main(rows, rounds, formats):
    with tempfile.TemporaryDirectory() as path, empty_database(Path(path)) as url:
        folder = Path(path)
        connection.settings_dict["NAME"] = url.rpartition("/")[2]
        if connection.vendor == "sqlite":
            connection.settings_dict["NAME"] = url.removeprefix("sqlite:///")
        call_command("migrate", verbosity=0)
        user_group = UserGroup.objects.create(team=Team.objects.create(name="Acme"), provided_id="a", name="A")
        write_json_lines(folder / "bookmarks.jsonl", rows)
        import_file(folder / "bookmarks.jsonl")
        for name in {"html", "csv"} & set(formats):
            with (folder / f"bookmarks.{name}").open("w") as file:
                file.writelines(EXPORT_FORMATS[name].write(load(user_group)))
        figures = defaultdict(list)
        for _ in range(rounds):
            for name in formats:
                execute(f"DELETE FROM {TABLE}" if connection.vendor == "sqlite" else f"TRUNCATE {TABLE}")
                for run in ("first", "second"):
                    file = folder / f"bookmarks.{name}"
                    figures[name, run].append(measured(lambda file=file: import_file(file)))
                figures[name, "copy"].append(copy_measured(folder))
        for name in formats:
            copies = figures[name, "copy"]
            for run in ("copy", "first", "second"):
                report(rows, f"{name}, {run}", figures[name, run], copies)
            first, second = ([figure[0] for figure in figures[name, run]] for run in ("first", "second"))
            print(f"{name}: the second run has {ratios(first, second)} of the first one's rate")
        print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024} MiB")
        connection.close()


if __name__ == "__main__":
    numbers = [int(argument) for argument in sys.argv[1:3]]
    main(*numbers, *[1_000_000, 3][len(numbers) :], sys.argv[3:] or list(EXPORT_FORMATS))
