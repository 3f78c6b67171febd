"""Measure the size of a row, for docs/measurements.md, and how fast a file is
imported.

    DATABASE_URL=postgres://... python -m tests.benchmarks.capacity [BOOKMARKS]

It fills a new database with BOOKMARKS bookmarks (2 million by default), prints
the bytes for each row of each table and index, and imports a file. It needs
the rights of a superuser of PostgreSQL.

Of the 778 bytes of a bookmark, 373 are in the table, 112 in ``bookmarks_url``,
91 in ``bookmarks_in_collection``, 85 each in ``bookmarks_by_group`` and
``bookmarks_by_update``, and 32 in the primary key.
"""

import json
import sys
import tempfile
import time
from pathlib import Path

from django.core.management import call_command
from django.db import connection

from tests.bookmarks_service.service import empty_database
from usergroups.models import UserGroup

# SQL expressions for the user group, the time and the collection of the
# bookmark with the number n. The collection uses the hash of another number,
# so that it does not depend on the group.
GROUP = "1 + abs(hashint4(n::int)::bigint) % {groups}"
MOMENT = "'2025-11-22'::timestamptz + n * interval '1 year' / {bookmarks}"
COLLECTION = "md5({group} || '/' || abs(hashint4((n + 7)::int)::bigint) % 10)::uuid"
# Rows of different groups follow each other, and every index exists from the
# beginning, as in a service in use. Ids of bookmarks are UUIDs of version 7,
# which begin with the time. Braces are doubled, because the statements are
# formatted.
FILL = [
    (
        "INSERT INTO usergroups_team (name) SELECT 'Team ' || n FROM "
        "generate_series(1, {teams}) n"
    ),
    """INSERT INTO usergroups_usergroup
        (team_id, environment, provided_id, name, token, mapping, properties,
         created_at, updated_at)
        SELECT 1 + n % {teams}, 'Customer', 'customer_' || n, 'Customer ' || n,
            'ugt_' || left(md5(n::text) || md5('x' || n), 38), '{{"40": "warehouse_eu"}}',
            '{{"plan": "pro", "seats": 25}}', now(), now()
        FROM generate_series(1, {groups}) n""",
    """INSERT INTO bookmarks_accesstoken
        (name, digest, hint, read_only, created_at, last_used_address,
         last_used_agent, user_group_id, team_id, environment)
        SELECT 'Browser extension', sha256(n::text::bytea),
            'bma_' || left(md5(n::text), 8), false, now(), '', '', id, team_id,
            environment
        FROM generate_series(1, 2 * {groups}) n
        JOIN usergroups_usergroup ON id = 1 + n % {groups}""",
    """INSERT INTO bookmarks_collection (id, name, created_at, updated_at, user_group_id)
        SELECT md5(g || '/' || n)::uuid, 'Collection no. ' || n, now(), now(), g
        FROM generate_series(0, 9) n, generate_series(1, {groups}) g""",
    """INSERT INTO bookmarks_bookmark
        (id, url, url_digest, title, tags, note, created_at, updated_at,
         user_group_id, collection_id)
        SELECT (lpad(to_hex((extract(epoch from {moment}) * 1000)::bigint), 12, '0') || '7' ||
                substr(md5(n::text), 1, 3) || 'a' || substr(md5('x' || n), 1, 15))::uuid,
            'https://www.example-' || n % 5000 || '.com/articles/' || md5(n::text) ||
                '/' || repeat('x', (n % 9)::int),
            sha256(n::text::bytea),
            'The title of a page, of the usual length: ' || n % 1000,
            'reading' || chr(10) || 'topic ' || n % 50 || chr(10) || 'year 2025',
            repeat('A note of fifty characters, also of usual length. ', 2),
            {moment}, {moment}, {group},
            CASE WHEN n % 10 < 7 THEN {collection} END
        FROM generate_series(1, {bookmarks}) n""",
]
SIZES = """
    SELECT t.relname, coalesce(i.relname, ''), pg_table_size(t.oid),
        pg_relation_size(i.oid)
    FROM pg_class t
    LEFT JOIN pg_index ON indrelid = t.oid
    LEFT JOIN pg_class i ON i.oid = indexrelid
    WHERE t.relkind = 'r' AND t.relname ~ '^(usergroups|bookmarks)_'
    ORDER BY t.relname, i.relname
"""


def execute(sql):
    with connection.cursor() as cursor:
        cursor.execute(sql)
        return cursor.fetchall() if cursor.description else []


def fill(bookmarks):
    groups = max(10, bookmarks // 1000)
    values = {"bookmarks": bookmarks, "groups": groups, "teams": max(1, groups // 100)}
    values |= {"group": GROUP.format(**values), "moment": MOMENT.format(**values)}
    values["collection"] = COLLECTION.format(**values)
    # without a lookup of each foreign key
    execute("SET session_replication_role = replica")
    for statement in FILL:
        execute(statement.format(**values))
    execute("RESET session_replication_role")
    execute("VACUUM ANALYZE")
    execute("CHECKPOINT")  # so that writing these pages does not slow down the import


def print_sizes():
    table = None
    for name, index, table_bytes, index_bytes in execute(SIZES):
        [(rows,)] = execute(f"SELECT count(*) FROM {name}")
        if name != table:
            print(
                f"{name}: {rows:,} rows, {table_bytes / max(rows, 1):.0f} bytes a row"
            )
        print(f"    {index}: {(index_bytes or 0) / max(rows, 1):.0f}")
        table = name
    for field in ("url", "title", "tags", "note"):
        [(length,)] = execute(f"SELECT avg(length({field})) FROM bookmarks_bookmark")
        print(f"{field} of {length:.0f} characters on average")


def measure_import(folder, rows):
    path = folder / "bookmarks.jsonl"
    title = "The title of a page, of the usual length"
    with path.open("w") as file:
        file.writelines(
            json.dumps(
                {
                    "url": f"https://www.example.com/articles/2026/11/{n:040}",
                    "title": title,
                }
            )
            + "\n"
            for n in range(rows)
        )
    group = (
        UserGroup.objects.filter(environment="Customer").select_related("team").first()
    )
    owner = [
        "--team",
        group.team.name,
        "--user-group",
        group.provided_id,
        "--environment",
        group.environment,
    ]
    start = time.perf_counter()
    call_command("import_bookmarks", str(path), *owner)
    print(f"import_bookmarks: {rows / (time.perf_counter() - start):,.0f} bookmarks/s")


def main(bookmarks=2_000_000):
    with tempfile.TemporaryDirectory() as name, empty_database(Path(name)) as url:
        connection.settings_dict["NAME"] = url.rpartition("/")[2]
        call_command("migrate", verbosity=0)
        fill(bookmarks)
        print_sizes()
        measure_import(Path(name), 200_000)
        connection.close()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
