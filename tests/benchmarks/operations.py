"""Compare the service with a small application that has some of its operations.

    DATABASE_URL=postgres://... python -m tests.benchmarks.operations [ROUNDS] [SECONDS]

The application in ``tests/benchmarks/applications/`` uses the same database and
tables as the service: plain Django views with the ORM. The database is a new
one, on SQLite if DATABASE_URL is not set.

Both servers run at once, each with two processes of eight threads: the service
on Granian as docs/deploy.md says, and the other on gunicorn's ``gthread``
worker. They are loaded one after another with wrk: 16 connections,
50 user groups, SECONDS (default 1) for each server and operation, in a new
random order in each of ROUNDS (default 8), after a warm-up. The service's rate
limit is on but not reached. The script fails if any call fails.

It prints medians, and the quartiles of the ratio to ``orm`` in the same round.
The calls a second of prepared SQL were 4.49 times those of ``orm`` for a PUT (of
the service: 2.54), and 1.93 times for a POST (1.86).
"""

import json
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from typing import NamedTuple

import dj_database_url
from django.core.management import call_command
from django.db import connection

from bookmarks.models import AccessToken, Bookmark
from tests.bookmarks_service.service import ROOT, Service, empty_database, environment
from tests.servers import TIMEOUT, listens, start_server, stop_server
from usergroups.models import ApiToken, Team, UserGroup

HERE = Path(__file__).parent
PUT = "PUT /api/user"
POST = "POST /v1/bookmarks"
GET = "GET /v1/bookmarks/{id}"
LIST = "GET /v1/bookmarks"
GROUPS = 50
BOOKMARKS_PER_GROUP = 60
# seconds, in which a server completes the calls that wrk has abandoned at the
# end
PAUSE = 0.2
COMMON = {"SECRET_KEY": "not-a-secret", "PYTHONPATH": f"{HERE}:{ROOT}"}
SERVICE = {**COMMON, "USERGROUPS_CALL_RATE": "1000000000/min"}
# with the digits to print after the point
METRICS = {"calls/s": 0, "p50 ms": 2, "p99 ms": 2, "CPU ms": 3}
# the units that wrk prints, in milliseconds
UNITS = {"us": 0.001, "ms": 1, "s": 1000, "m": 60_000}

serial = count()

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
"""A script for wrk, which sends the calls of a file in turn.

A line has method, path, token and body, between tabs.
"""


class Call(NamedTuple):
    """A request.

    "UNIQUE" in the body stands for a text that is new in each call.
    """

    method: str
    path: str
    authorization: str
    body: str = ""


def create_accounts():
    """Create user groups with bookmarks, and return the calls of each
    operation, one for each group.
    """
    calls = defaultdict(list)
    for number in range(GROUPS):
        # so that no team has too many calls at once
        team, _ = Team.objects.get_or_create(name=f"Team {number % 5}")
        group = UserGroup.objects.create(
            team=team, provided_id=f"customer_{number}", name="Customer"
        )
        items = [
            {"url": f"https://example.com/{n}", "title": f"Title {n}"}
            for n in range(BOOKMARKS_PER_GROUP)
        ]
        bookmark = Bookmark.objects.add_many(group, items)[0].bookmark
        api_token = f"Token {ApiToken.objects.issue(team=team)[1]}"
        access_token = f"Bearer {AccessToken.objects.issue(user_group=group)[1]}"
        update = {
            "user_group_id": group.provided_id,
            "name": "UNIQUE",
            "properties": {"plan": "pro", "seats": 25},
        }
        url = f"https://www.example.com/articles/2026/11/22/{'x' * 20}/UNIQUE"
        new = {"url": url, "title": "The title of a page, of the usual length"}
        calls[PUT].append(Call("PUT", "/api/user", api_token, json.dumps(update)))
        calls[POST].append(Call("POST", "/v1/bookmarks", access_token, json.dumps(new)))
        calls[GET].append(Call("GET", f"/v1/bookmarks/{bookmark.pk}", access_token))
        calls[LIST].append(Call("GET", "/v1/bookmarks", access_token))
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    return calls


class Application(Service):
    """The other application, on gunicorn with as many processes and threads as
    the service has.
    """

    def __init__(self, folder, url):
        super().__init__(
            folder, url, **COMMON, DJANGO_SETTINGS_MODULE="applications.settings"
        )
        self.log = folder / "orm.log"

    def __enter__(self):
        application = "django.core.wsgi:get_wsgi_application()"
        options = [
            "--workers=2",
            "--threads=8",
            "--no-control-socket",
            f"--bind=127.0.0.1:{self.port}",
        ]
        command = [sys.executable, "-m", "gunicorn", *options, application]
        environ = environment(**{**self.variables, "DATABASE_URL": self.database_url})
        self.process = start_server(
            command, self.log, lambda: listens(self.port), cwd=ROOT, env=environ
        )
        return self

    def __exit__(self, *exc_info):
        stop_server(self.process)


def cpu_seconds(pids):
    """Return the CPU time of processes: ``utime`` and ``stime`` of /proc,
    which count hundredths of a second.
    """
    fields = [
        Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split() for pid in pids
    ]
    return sum(int(each[11]) + int(each[12]) for each in fields) / 100


def warm_up(server, calls):
    """Make 16 calls at once, so that all threads of the server have imported
    everything and opened a connection.
    """

    def make(call):
        headers = {
            "Authorization": call.authorization,
            "Content-Type": "application/json",
        }
        body = call.body.replace("UNIQUE", f"{os.getpid()}-{next(serial)}")
        response = server.request(call.method, call.path, content=body, headers=headers)
        assert response.status_code in (200, 201), response.text

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(make, calls[:16]))


def load(server, calls, folder, seconds, connections=16):
    """Call a server with wrk and return the metrics."""
    # The script replaces "UNIQUE" anew in each call.
    unique = f"{os.getpid()}-{next(serial)}-UNIQUE"
    (folder / "calls").write_text(
        "".join("\t".join(call).replace("UNIQUE", unique) + "\n" for call in calls)
    )
    (folder / "wrk.lua").write_text(WRK % (folder / "calls"))
    options = [
        f"-c{connections}",
        f"-d{seconds}s",
        "--timeout=60s",
        "--latency",
        "-s",
        folder / "wrk.lua",
    ]
    command = ["wrk", "-t1", *options, server.base_url]
    workers = server.worker_pids()
    before = cpu_seconds(workers)
    output = subprocess.check_output(command, text=True, timeout=TIMEOUT)
    cpu = cpu_seconds(workers) - before
    number = int(re.search(r"(\d+) requests in", output)[1])
    rate = float(re.search(r"Requests/sec: +(\S+)", output)[1])
    failed = "Non-2xx" in output or "Socket errors" in output
    assert number and not failed, f"{server.log.name}: {output}"
    assert server.worker_pids() == workers, "a worker has been restarted"
    p50, p99 = (
        float(value) * UNITS[unit]
        for value, unit in re.findall(r"(?:50|99)% +([\d.]+)([a-z]+)", output)
    )
    time.sleep(PAUSE)
    return {
        "calls/s": rate,
        "p50 ms": p50,
        "p99 ms": p99,
        "CPU ms": cpu / number * 1000,
    }


def ratios(values, base):
    """Return the median and the quartiles of the ratios of the values to those
    of the same rounds in ``base``.
    """
    found = [value / other for value, other in zip(values, base, strict=True)]
    found = found * 2 if len(found) == 1 else found  # quantiles() needs two values.
    low, median, high = statistics.quantiles(found, n=4, method="inclusive")
    return f"{median:.2f} ({low:.2f}-{high:.2f})"


def print_table(operation, found):
    """Print a table.

    ``found`` has the metrics of each round by the server's name.
    """
    print(f"\n{operation:22}", *(f"{name:>8} {'ratio to orm':>17}" for name in METRICS))
    for name, rounds in found.items():
        cells = []
        for metric, digits in METRICS.items():
            values = [each[metric] for each in rounds]
            base = [each[metric] for each in found["orm"]]
            cells.append(
                f"{statistics.median(values):8.{digits}f} {ratios(values, base):>17}"
            )
        print(f"{name:22}", *cells)


def compare(folder, url, calls, rounds, seconds):
    """Load the servers in turn, and print a table for each operation."""
    found = {operation: defaultdict(list) for operation in calls}
    with ExitStack() as stack:
        servers = {
            "orm": stack.enter_context(Application(folder, url)),
            "service": stack.enter_context(Service(folder, url, **SERVICE)),
        }
        for number in range(rounds + 1):
            for operation in calls:
                for name in random.sample([*servers], len(servers)):
                    if not number:
                        warm_up(servers[name], calls[operation])
                    metrics = load(servers[name], calls[operation], folder, seconds)
                    if number:  # The first round is part of the warm-up.
                        found[operation][name].append(metrics)
    for operation, by_name in found.items():
        print_table(operation, by_name)


def main(rounds=8, seconds=1):
    with tempfile.TemporaryDirectory() as name, empty_database(Path(name)) as url:
        connection.settings_dict["NAME"] = dj_database_url.parse(url)["NAME"]
        call_command("migrate", verbosity=0)
        calls = create_accounts()
        connection.close()
        compare(Path(name), url, calls, rounds, seconds)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
