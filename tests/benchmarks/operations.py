"""Compare the service with three applications that do the same by other means, and say where its time goes.

    DATABASE_URL=postgres://... python -m tests.benchmarks.operations [ROUNDS] [SECONDS]
    DATABASE_URL=postgres://... python -m tests.benchmarks.operations --in-process [--seconds SECONDS]

The applications in ``tests/benchmarks/rivals/`` use the same database and tables as the service: plain Django views
with the ORM, plain Django views with prepared SQL, and Django REST framework as its tutorial describes it. The database
is a new one, on SQLite without DATABASE_URL.

The first command runs all four servers at once, each with two processes of eight threads: the service on Granian as
docs/deploy.md says, and the others on gunicorn's ``gthread`` worker. It loads one after another with wrk: 16
connections, 50 user groups, SECONDS (default 1) for each server and operation, in a new random order in each of ROUNDS
(default 8), after a warm-up. The service's rate limit is on but not reached. The script fails if any call fails. The
statements of a call are counted in a process of its own, as the driver sends them: also BEGIN, COMMIT and checks of the
connection.

The second command calls the WSGI applications without a server, one process after another for a tenth of a second, and
prints the CPU time of a call, which other load on the machine changes less. It also prints the parts of the service's
calls. Look-up, write, validation and envelope are measured alone, as a view runs them:

- look-up: ``authenticate()`` of the token's queryset.
- write: ``change()`` or ``add()``, with any transaction.
- validation: the serializer of the body, created once.
- envelope: the serializer of the response, created once, and the renderer.
- 405: a request with a method that the view refuses. It is everything before the authentication (middleware, URLs and
  the view's set-up), the error response and the log.
- rest: the whole call less all these. It is what is left of authentication, rate limit, permission, parser, headers,
  and the last use of the token.

The last rows are whole calls that end early: 404 after the URLs, 405 before the authentication, 401 without a token,
and 400 in the parser. Each includes its error response, which costs more than the response of a successful call.

Both print medians and, in parentheses, quartiles. A ratio is that to ``orm`` in the same round.
"""

import argparse
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
from contextlib import ExitStack, contextmanager
from itertools import count
from pathlib import Path

import dj_database_url
from django.core.management import call_command
from django.db import connection

from bookmarks.models import AccessToken, Bookmark
from tests.benchmarks.calls import GET, LIST, POST, PUT, Account, calls_of
from tests.benchmarks.quartiles import ratios, with_quartiles
from tests.bookmarks_service.service import ROOT, Service, empty_database, environment
from tests.servers import ENDED_WITH_ITS_PARENT, TIMEOUT, listens, start_server, stop_server
from usergroups.models import ApiToken, Team, UserGroup

HERE = Path(__file__).parent
NAMES = ("service", "orm", "sql", "drf")
OPERATIONS = (PUT, POST, GET, LIST)
GROUPS, BOOKMARKS = 50, 60
PAUSE = 0.2  # seconds, in which the server ends the last calls of wrk
SLICE = 0.1  # seconds, in process
COMMON = {"SECRET_KEY": "not-a-secret", "PYTHONPATH": f"{HERE}:{ROOT}"}
SERVICE = {"USERGROUPS_CALL_RATE": "1000000000/min"}
METRICS = {"calls/s": 0, "p50 ms": 2, "p99 ms": 2, "CPU ms": 3}
UNITS = {"us": 0.001, "ms": 1, "s": 1000, "m": 60_000}  # of wrk, in milliseconds
PARTS = ("look-up", "write", "validation", "envelope", "405")
EARLY_ENDS = ("404", "405", "401", "400")

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
"""A script for wrk, which sends the calls in a file in turn: method, path, token and body, separated by tabs."""


def cpu_seconds(pids):
    fields = [Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split() for pid in pids]
    return sum(int(each[11]) + int(each[12]) for each in fields) / 100


def variables(name, url):
    """Return the environment of the application with this name."""
    if name == "service":
        return {**COMMON, **SERVICE, "DATABASE_URL": url, "DJANGO_SETTINGS_MODULE": "bookmarks_service.settings"}
    return {**COMMON, "RIVAL": name, "DATABASE_URL": url, "DJANGO_SETTINGS_MODULE": "rivals.settings"}


class Rival(Service):
    """One of the other applications, served as the service is."""

    def __init__(self, name, folder, url):
        super().__init__(folder, url, **variables(name, url))
        self.log = folder / f"{name}.log"

    def __enter__(self):
        application = "django.core.wsgi:get_wsgi_application()"
        options = ["--workers=2", "--threads=8", "--no-control-socket", f"--bind=127.0.0.1:{self.port}"]
        command = [sys.executable, "-m", "gunicorn", *options, application]
        environ = environment(**{**self.variables, "DATABASE_URL": self.database_url})
        self.process = start_server(command, self.log, lambda: listens(self.port), cwd=self.root, env=environ)
        return self

    def __exit__(self, *exc_info):
        stop_server(self.process)


class Process:
    """An application in a process of its own, called through WSGI: see ``calls.py``."""

    def __init__(self, name, folder, url, accounts):
        command = [*ENDED_WITH_ITS_PARENT, sys.executable, str(HERE / "calls.py"), name, str(accounts)]
        self.log = folder / f"{name}.stderr"
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                command, cwd=ROOT, env=environment(**variables(name, url)), text=True,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log,
            )  # fmt: skip

    def __enter__(self):
        self.parts = self.answer()
        return self

    def answer(self):
        line = self.process.stdout.readline()
        assert line, self.log.read_text()[-4000:]
        return json.loads(line)

    def ask(self, part, seconds=0.0):
        self.process.stdin.write(json.dumps([part, seconds]) + "\n")
        self.process.stdin.flush()
        return self.answer()

    def __exit__(self, *exc_info):
        self.process.stdin.close()
        self.process.wait(timeout=TIMEOUT)
        self.process.stdout.close()


def create_accounts():
    accounts = []
    for number in range(GROUPS):
        team, _ = Team.objects.get_or_create(name=f"Team {number // 10}")
        group = UserGroup.objects.create(team=team, provided_id=f"customer_{number}", name="Customer")
        items = [{"url": f"https://example.com/{number}", "title": f"Title {number}"} for number in range(BOOKMARKS)]
        bookmark, _ = Bookmark.objects.add_many(group, items)[0]
        _, api_token = ApiToken.objects.issue(team=team)
        _, access_token = AccessToken.objects.issue(user_group=group)
        accounts.append(Account(group.provided_id, api_token, access_token, str(bookmark.pk)))
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    return accounts


def load(server, calls, folder, seconds, connections=16):
    """Call a server with wrk and return the metrics."""
    unique = f"{os.getpid()}-{next(serial)}-UNIQUE"
    lines = ("\t".join(call[:4]).replace("UNIQUE", unique) + "\n" for call in calls)
    (folder / "calls").write_text("".join(lines))
    (folder / "wrk.lua").write_text(WRK % (folder / "calls"))
    options = [f"-c{connections}", f"-d{seconds}s", "--timeout=60s", "--latency", "-s", folder / "wrk.lua"]
    command = ["wrk", "-t1", *options, server.base_url]
    workers = server.worker_pids()
    before = cpu_seconds(workers)
    output = subprocess.check_output(command, text=True, timeout=TIMEOUT)
    cpu = cpu_seconds(workers) - before
    number, rate = int(re.search(r"(\d+) requests in", output)[1]), float(re.search(r"Requests/sec: +(\S+)", output)[1])
    assert number and "Non-2xx" not in output and "Socket errors" not in output, f"{server.log.name}: {output}"
    assert server.worker_pids() == workers, "a worker has been restarted"
    p50, p99 = (float(value) * UNITS[unit] for value, unit in re.findall(r"(?:50|99)% +([\d.]+)([a-z]+)", output))
    time.sleep(PAUSE)
    return {"calls/s": rate, "p50 ms": p50, "p99 ms": p99, "CPU ms": cpu / number * 1000}


def warm_up(server, calls):
    """Make 16 calls at once, so that all threads of the server have imported everything and opened a connection."""

    def make(call):
        headers = {"Authorization": call.authorization, "Content-Type": "application/json"}
        body = call.body.replace("UNIQUE", f"{os.getpid()}-{next(serial)}")
        response = server.request(call.method, call.path, content=body, headers=headers)
        assert response.status_code == call.status, response.text

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(make, calls[:16]))


def print_load(operation, found, statements):
    """Print a table. ``found`` has the metrics of each round by the server's name."""
    print(f"\n{operation:22}", *(f"{name:>8} {'ratio to orm':>17}" for name in METRICS), " statements")
    for name, rounds in found.items():
        cells = []
        for metric, digits in METRICS.items():
            values, base = ([each[metric] for each in rows] for rows in (rounds, found["orm"]))
            cells.append(f"{statistics.median(values):8.{digits}f} {ratios(values, base):>17}")
        ratio = statements[name, operation] / statements["orm", operation]
        print(f"{name:22}", *cells, f"{statements[name, operation]:6.1f} {ratio:4.2f}")


@contextmanager
def processes(folder, url):
    """Run each application in a process of its own."""
    with ExitStack() as stack:
        started = {name: Process(name, folder, url, folder / "accounts") for name in NAMES}
        yield {name: stack.enter_context(process) for name, process in started.items()}


@contextmanager
def servers(folder, url):
    """Run all servers."""
    with ExitStack() as stack:
        others = {name: stack.enter_context(Rival(name, folder, url)) for name in NAMES[1:]}
        yield {"service": stack.enter_context(Service(folder, url, **SERVICE)), **others}


def count_statements(folder, url):
    """Return the number of statements of a call by the application and the operation."""
    with processes(folder, url) as running:
        return {
            (name, operation): process.ask(f"statements {operation}")[0]
            for name, process in running.items()
            for operation in OPERATIONS
            if operation in process.parts
        }


def compare_servers(folder, url, accounts, options):
    statements = count_statements(folder, url)
    with servers(folder, url) as running:
        found = defaultdict(lambda: {name: [] for name in NAMES})
        for number in range(options.rounds + 1):
            for operation in OPERATIONS:
                calls = [calls_of(account)[operation] for account in accounts]
                names = [name for name in NAMES if (name, operation) in statements]
                for name in random.sample(names, len(names)):
                    if not number:
                        warm_up(running[name], calls)
                    metrics = load(running[name], calls, folder, options.slice)
                    if number:  # The first round is part of the warm-up.
                        found[operation][name].append(metrics)
    for operation, by_name in found.items():
        print_load(operation, {name: rows for name, rows in by_name.items() if rows}, statements)


def print_parts(operation, cpu, elapsed):
    """Print a table. ``cpu`` and ``elapsed`` have the microseconds of each round by the application and the part."""
    orm = cpu["orm", operation]
    whole = cpu["service", operation]
    parts = {part: cpu["service", f"{operation} {part}"] for part in PARTS}
    rest = [total - sum(values) for total, *values in zip(whole, *parts.values(), strict=True)]
    rows = {"service": whole, **{f"  {part}": values for part, values in parts.items()}, "  rest": rest}
    times = {"service": elapsed["service", operation]}
    times |= {f"  {part}": elapsed["service", f"{operation} {part}"] for part in PARTS}
    for name in NAMES[1:]:
        rows[name], times[name] = cpu[name, operation], elapsed[name, operation]
    for end in EARLY_ENDS:
        rows[f"service, {end}"] = cpu["service", f"{operation} {end}"]
        times[f"service, {end}"] = elapsed["service", f"{operation} {end}"]
    print(f"\n{operation:22} {'CPU us':>22} {'ratio to orm':>18} {'elapsed us':>22}")
    for name, values in rows.items():
        last = with_quartiles(times[name], 0) if name in times else ""
        print(f"{name:22} {with_quartiles(values, 0):>22} {ratios(values, orm):>18} {last:>22}")


def compare_processes(folder, url, seconds):
    cpu, elapsed = defaultdict(list), defaultdict(list)
    with processes(folder, url) as running:
        slices = [(name, part) for name, process in running.items() for part in process.parts]
        slices = [each for each in slices if not each[1].startswith((GET, LIST))]
        end, number = time.monotonic() + seconds, 0
        while number < 2 or time.monotonic() < end:
            for name, part in random.sample(slices, len(slices)):
                runs, cpu_time, time_taken = running[name].ask(part, SLICE)
                cpu[name, part].append(cpu_time / runs * 1e6)
                elapsed[name, part].append(time_taken / runs * 1e6)
            number += 1
    print(f"{number} rounds of {len(slices)} slices of {SLICE} s")
    for operation in (PUT, POST):
        print_parts(operation, cpu, elapsed)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rounds", type=int, nargs="?", default=8)
    parser.add_argument("slice", type=int, nargs="?", default=1, help="seconds of each slice with wrk")
    parser.add_argument("--in-process", action="store_true", help="call the applications without a server")
    parser.add_argument("--seconds", type=float, default=75, help="of the run in process (default: 75)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, empty_database(Path(name)) as url:
        folder = Path(name)
        connection.settings_dict["NAME"] = dj_database_url.parse(url)["NAME"]
        call_command("migrate", verbosity=0)
        accounts = create_accounts()
        connection.close()
        (folder / "accounts").write_text(json.dumps(accounts))
        if options.in_process:
            compare_processes(folder, url, options.seconds)
        else:
            compare_servers(folder, url, accounts, options)


if __name__ == "__main__":
    main()
