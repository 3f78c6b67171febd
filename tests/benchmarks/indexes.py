"""What each index of bookmarks adds to the cost of an INSERT.

    DATABASE_URL=postgres://... python -m tests.benchmarks.indexes [ROWS] [ROUNDS]

Copies a table of ROWS bookmarks in a database of its own: with all indexes, without each of them, and with the text
index of docs/measurements.md. Inserts 100 rows into each copy in turn. Prints the mean CPU time of PostgreSQL for each
row, and as a multiple of that with all indexes in the same round (medians, with quartiles), the mean write-ahead log
for each row, and the bytes of the indexes for each row. Only the means contain the rounds in which the text index sorts
new rows in. PostgreSQL must run on this machine. Needs the rights of a superuser.
"""

import hashlib
import random
import sys
import tempfile
from pathlib import Path
from statistics import mean

from django.core.management import call_command
from django.db import connection, transaction
from django.utils import timezone
from uuid_utils.compat import uuid7

from tests.benchmarks.capacity import execute, fill
from tests.benchmarks.growth import text_index
from tests.benchmarks.quartiles import ratios
from tests.bookmarks_service.service import empty_database
from usergroups.models import UserGroup

BATCH = 100  # rows
COLUMNS = "id, url, url_digest, title, created_at, updated_at, user_group_id, collection_id"
INSERT = f"INSERT INTO {{}} ({COLUMNS}) VALUES (%s, %s, %s, %s, %s, %s, %s, md5(%s)::uuid)"
BY_CREATION = "CREATE INDEX by_creation ON bookmarks_bookmark (created_at, id)"  # which bookmarks had before


def definitions():
    """Return the statement that creates each index, by name."""
    return dict(execute("SELECT indexname, indexdef FROM pg_indexes WHERE tablename = 'bookmarks_bookmark'"))


def copy(table, indexes):
    execute(f"CREATE TABLE {table} (LIKE bookmarks_bookmark INCLUDING DEFAULTS)")
    execute(f"INSERT INTO {table} SELECT * FROM bookmarks_bookmark")
    for name, definition in indexes.items():
        on_copy = definition.replace("public.", "").replace("ON bookmarks_bookmark", f"ON {table}")
        execute(on_copy.replace(f"CONCURRENTLY {name}", "").replace(f"INDEX {name}", "INDEX"))
    execute(f"VACUUM ANALYZE {table}")


def tables():
    """Make the copies and return the descriptions of their indexes, by name of the copy."""
    indexes = definitions()
    *extensions, _, _, text, _ = text_index().split(";\n")
    for statement in extensions:
        execute(statement)
    copies = {"all indexes": indexes}
    copies |= {f"without {name}": {key: indexes[key] for key in indexes if key != name} for name in indexes}
    copies |= {"with (created_at, id)": indexes | {"by_creation": BY_CREATION}}
    copies |= {"with the text index": indexes | {"bookmarks_by_text": text}}
    for number, kept in enumerate(copies.values()):
        copy(f"copy_{number}", kept)
    return {f"copy_{number}": name for number, name in enumerate(copies)}


def cpu_seconds(pid):
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e9


def insert(table, groups):
    """Insert a batch and return the CPU time and the bytes of the log for each row."""
    rows = []
    for _ in range(BATCH):
        group, number, now = random.randrange(groups) + 1, random.getrandbits(60), timezone.now()
        url = f"https://www.example-{number % 5000}.com/articles/{hashlib.md5(b'%d' % number).hexdigest()}"
        title = f"The title of a page, of the usual length: {number % 1000}"
        digest = hashlib.sha256(url.encode()).digest()
        rows.append((uuid7(), url, digest, title, now, now, group, f"{group}/{number % 10}"))
    [(pid, position)] = execute("SELECT pg_backend_pid(), pg_current_wal_insert_lsn()")
    before = cpu_seconds(pid)
    with transaction.atomic(), connection.cursor() as cursor:
        for row in rows:
            cursor.execute(INSERT.format(table), row)
    cpu = cpu_seconds(pid) - before
    [(log,)] = execute("SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), %s)", position)
    return cpu / BATCH, float(log) / BATCH


def main(bookmarks=300_000, rounds=100):
    with tempfile.TemporaryDirectory() as folder, empty_database(Path(folder)) as url:
        connection.settings_dict["NAME"] = url.rpartition("/")[2]
        call_command("migrate", verbosity=0)
        fill(bookmarks)
        copies = tables()
        execute("CHECKPOINT")
        groups = UserGroup.objects.count()
        figures = {table: [] for table in copies}
        for _ in range(rounds):
            for table in copies:
                figures[table].append(insert(table, groups))
        for table, name in copies.items():
            cpu_times, log_sizes = zip(*figures[table], strict=True)
            with_all = [cpu for cpu, _ in figures["copy_0"]]
            [(size,)] = execute(f"SELECT pg_indexes_size('{table}') / count(*) FROM {table}")
            print(
                f"{name}: {mean(cpu_times) * 1e6:.0f} µs of CPU time, {ratios(cpu_times, with_all)}; "
                f"{mean(log_sizes):,.0f} bytes of the log, {size} bytes of indexes"
            )
        connection.close()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
