"""What rows and calls cost: the figures in docs/measurements.md.

    DATABASE_URL=postgres://... python -m tests.benchmarks.capacity [BOOKMARKS] [SECONDS]

Fills a database of its own and prints bytes for each row of each table and index. Then it runs the service on all
cores, calls it with wrk from this machine for SECONDS for each operation, and prints the calls a second, the CPU time
of the service and of PostgreSQL for each call, and the write-ahead log. Other load on the machine changes the CPU time
less than the calls a second. The write-ahead log is that of the whole PostgreSQL server, which should have no other
work. Needs wrk, and the rights of a superuser of PostgreSQL.
"""

import json
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from django.core.management import call_command
from django.db import connection

from bookmarks.models import AccessToken, Bookmark
from tests.bookmarks_service.service import Service, empty_database
from usergroups.models import ApiToken, UserGroup

GROUP = "1 + abs(hashint4(n::int)::bigint) % {groups}"
MOMENT = "'2025-11-22'::timestamptz + n * interval '1 year' / {bookmarks}"
COLLECTION = "md5({group} || '/' || abs(hashint4((n + 7)::int)::bigint) % 10)::uuid"
# Rows of different groups follow each other, as in a service in use, and every index is in place from the beginning.
FILL = [
    "INSERT INTO usergroups_team (name) SELECT 'Team ' || n FROM generate_series(1, {teams}) n",
    """INSERT INTO usergroups_usergroup
        (team_id, environment, provided_id, name, token, mapping, properties, created_at, updated_at)
        SELECT 1 + n % {teams}, 'Customer', 'customer_' || n, 'Customer ' || n,
            'ugt_' || left(md5(n::text) || md5('x' || n), 38), '{{"40": "warehouse_eu"}}',
            '{{"plan": "pro", "seats": 25}}', now(), now()
        FROM generate_series(1, {groups}) n""",
    """INSERT INTO bookmarks_accesstoken (name, digest, hint, read_only, created_at, user_group_id)
        SELECT 'Browser extension', sha256(n::text::bytea), 'bma_' || left(md5(n::text), 8), false, now(),
            1 + n % {groups} FROM generate_series(1, 2 * {groups}) n""",
    """INSERT INTO bookmarks_collection (id, name, created_at, updated_at, user_group_id)
        SELECT md5(g || '/' || n)::uuid, 'Collection no. ' || n, now(), now(), g
        FROM generate_series(0, 9) n, generate_series(1, {groups}) g""",
    """INSERT INTO bookmarks_bookmark
        (id, url, url_digest, title, created_at, updated_at, user_group_id, collection_id)
        SELECT (lpad(to_hex((extract(epoch from {moment}) * 1000)::bigint), 12, '0') || '7' ||
                substr(md5(n::text), 1, 3) || 'a' || substr(md5('x' || n), 1, 15))::uuid,
            'https://www.example-' || n % 5000 || '.com/articles/' || md5(n::text) || '/' || repeat('x', (n % 9)::int),
            sha256(n::text::bytea), 'The title of a page, of the usual length: ' || n % 1000, {moment}, {moment},
            {group},
            CASE WHEN n % 10 < 7 THEN {collection} END
        FROM generate_series(1, {bookmarks}) n""",
]  # fmt: skip
SIZES = """
    SELECT t.relname, coalesce(i.relname, ''), pg_table_size(t.oid), pg_relation_size(i.oid) FROM pg_class t
    LEFT JOIN pg_index ON indrelid = t.oid LEFT JOIN pg_class i ON i.oid = indexrelid
    WHERE t.relkind = 'r' AND t.relname ~ '^(usergroups|bookmarks)_' ORDER BY t.relname, i.relname
"""
WRK = """
    local calls, position, start = {}, 0, os.time()
    for line in io.lines("%s") do calls[#calls + 1] = line end
    request = function()
        position = position + 1
        local method, path, token, body = calls[position %% #calls + 1]:match("(.-)\\t(.-)\\t(.-)\\t(.*)")
        body = body:gsub("UNIQUE", start .. "-" .. position)
        local headers = {["Authorization"] = token, ["Content-Type"] = "application/json"}
        return wrk.format(method, path, headers, method ~= "GET" and body or nil)
    end
"""


def execute(sql, *params):
    with connection.cursor() as cursor:
        cursor.execute(sql, params or None)
        return cursor.fetchall() if cursor.description else []


def fill(bookmarks):
    groups = max(10, bookmarks // 1000)
    values = {"bookmarks": bookmarks, "groups": groups, "teams": max(1, groups // 100)}
    values |= {"group": GROUP.format(**values), "moment": MOMENT.format(**values)}
    values["collection"] = COLLECTION.format(**values)
    execute("SET session_replication_role = replica")  # without a lookup of each foreign key
    for statement in FILL:
        execute(statement.format(**values))
    execute("RESET session_replication_role")
    execute("VACUUM ANALYZE")
    execute("CHECKPOINT")


def print_sizes():
    table = None
    for name, index, table_bytes, index_bytes in execute(SIZES):
        [(rows,)] = execute(f"SELECT count(*) FROM {name}")
        if name != table:
            print(f"{name}: {rows:,} rows, {table_bytes / max(rows, 1):.0f} bytes a row")
        print(f"    {index}: {(index_bytes or 0) / max(rows, 1):.0f}")
        table = name
    [(url, title)] = execute("SELECT avg(length(url)), avg(length(title)) FROM bookmarks_bookmark")
    print(f"URLs of {url:.0f} characters on average, titles of {title:.0f}")


def calls(tokens=200):
    """Return the lines of each operation's file: method, path, Authorization and body."""
    found = {"PUT /api/user": [], "POST /v1/bookmarks": [], "GET /v1/bookmarks/{id}": [], "GET /v1/bookmarks": []}
    for group in UserGroup.objects.filter(environment="Customer").select_related("team")[:tokens]:
        _, api_token = ApiToken.objects.issue(team=group.team, environment=group.environment)
        _, access_token = AccessToken.objects.issue(user_group=group)
        update = {"user_group_id": group.provided_id, "name": "UNIQUE", "properties": {"plan": "pro", "seats": 25}}
        found["PUT /api/user"].append(("PUT", "/api/user", f"Token {api_token}", update))
        token, title = f"Bearer {access_token}", "The title of a page, of the usual length"
        new = {"url": f"https://www.example.com/articles/2026/11/22/{'x' * 20}/UNIQUE", "title": title}
        found["POST /v1/bookmarks"].append(("POST", "/v1/bookmarks", token, new))
        bookmark = Bookmark.objects.filter(user_group=group).first()
        found["GET /v1/bookmarks/{id}"].append(("GET", f"/v1/bookmarks/{bookmark.pk}", token, {}))
        found["GET /v1/bookmarks"].append(("GET", "/v1/bookmarks?limit=50", token, {}))
    return {
        name: "".join("\t".join([*map(str, call[:3]), json.dumps(call[3])]) + "\n" for call in each)
        for name, each in found.items()
    }


def cpu_seconds(pids):
    fields = [Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split() for pid in pids]
    return sum(int(each[11]) + int(each[12]) for each in fields) / 100


def backends():
    return [pid for (pid,) in execute("SELECT pid FROM pg_stat_activity WHERE datname = current_database() "
                                      "AND pid <> pg_backend_pid()")]  # fmt: skip


def measure(service, name, lines, folder, seconds):
    (folder / "calls").write_text(lines)
    (folder / "wrk.lua").write_text(WRK % (folder / "calls"))
    wrk = ["wrk", "-t1", "-c16", "-s", folder / "wrk.lua", service.base_url]
    subprocess.run([*wrk, "-d2"], check=True, capture_output=True)  # opens the connections to the database
    before = [cpu_seconds(service.worker_pids()), cpu_seconds(backends())]
    [(position,)] = execute("SELECT pg_current_wal_lsn()")
    output = subprocess.check_output([*wrk, f"-d{seconds}", "--latency"], text=True)
    [(wal,)] = execute("SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), %s)", position)
    after = [cpu_seconds(service.worker_pids()), cpu_seconds(backends())]
    count, rate = int(re.search(r"(\d+) requests in", output)[1]), float(re.search(r"Requests/sec: +(\S+)", output)[1])
    python, postgresql = [(b - a) / count * 1000 for a, b in zip(before, after, strict=True)]
    failed, slowest = re.search(r"Non-2xx.*: (\d+)", output), re.search(r"99% +(\S+)", output)[1]
    print(
        f"{name}: {rate:.0f} calls/s, service {python:.2f} ms of CPU, PostgreSQL {postgresql:.2f} ms, "
        f"WAL {wal / count:.0f} bytes, p99 {slowest}, failed {failed[1] if failed else 0}",
        flush=True,
    )


def measure_import(folder, rows):
    path = folder / "bookmarks.jsonl"
    title = "The title of a page, of the usual length"
    with path.open("w") as file:
        file.writelines(
            json.dumps({"url": f"https://www.example.com/articles/2026/11/{n:040}", "title": title}) + "\n"
            for n in range(rows)
        )
    group = UserGroup.objects.filter(environment="Customer").select_related("team").first()
    owner = ["--team", group.team.name, "--user-group", group.provided_id, "--environment", group.environment]
    start = time.perf_counter()
    call_command("import_bookmarks", str(path), *owner)
    print(f"import_bookmarks: {rows / (time.perf_counter() - start):,.0f} bookmarks/s")


def main(bookmarks=2_000_000, seconds=15):
    with tempfile.TemporaryDirectory() as name, empty_database(Path(name)) as url:
        folder = Path(name)
        connection.settings_dict["NAME"] = url.rpartition("/")[2]
        call_command("migrate", verbosity=0)
        fill(bookmarks)
        print_sizes()
        with Service(folder, url, USERGROUPS_CALL_RATE="1000000000/min") as service:
            for _ in range(2):
                for operation, lines in calls().items():
                    measure(service, operation, lines, folder, seconds)
            workers = service.worker_pids()
            memory = [int(re.search(r"Pss: +(\d+)", Path(f"/proc/{p}/smaps_rollup").read_text())[1]) for p in workers]
            print(f"{len(workers)} processes, {len(backends())} connections, {sum(memory) // 1024} MiB of memory")
        measure_import(folder, 200_000)
        connection.close()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
