"""How many threads a process of the service should have: calls with 2, 4, 8 and 16 threads, compared in one run.

    DATABASE_URL=postgres://... python -m tests.benchmarks.threads [ROUNDS] [SECONDS]

A service with each number runs on the same database, and wrk loads one after another with 64 connections: SECONDS
(default 1) for each service and operation, in a new random order in each of ROUNDS (default 8). Then it repeats this on
a slow database: a trigger makes each write wait for 20 ms, without using the CPU. Prints medians and, in parentheses,
the quartiles of the ratios to 8 threads in the same round.
"""

import random
import statistics
import sys
import tempfile
from collections import defaultdict
from contextlib import ExitStack
from pathlib import Path

import dj_database_url
from django.core.management import call_command
from django.db import connection

from tests.benchmarks.calls import POST, PUT, calls_of
from tests.benchmarks.operations import METRICS, SERVICE, create_accounts, load, warm_up
from tests.benchmarks.quartiles import ratios
from tests.bookmarks_service.service import Service, empty_database

THREADS = (2, 4, 8, 16)
BASE = 8
CONNECTIONS = 64
SLOW = """
CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(0.02); RETURN NEW; END';
CREATE TRIGGER wait BEFORE INSERT ON bookmarks_bookmark FOR EACH ROW EXECUTE FUNCTION wait();
CREATE TRIGGER wait BEFORE UPDATE ON usergroups_usergroup FOR EACH ROW EXECUTE FUNCTION wait();
"""


def compare(services, accounts, folder, rounds, seconds):
    found = defaultdict(lambda: {threads: [] for threads in THREADS})
    for number in range(rounds + 1):
        for operation in (PUT, POST):
            calls = [calls_of(account)[operation] for account in accounts]
            for threads in random.sample(THREADS, len(THREADS)):
                if not number:
                    warm_up(services[threads], calls)
                metrics = load(services[threads], calls, folder, seconds, CONNECTIONS)
                if number:  # The first round is part of the warm-up.
                    found[operation][threads].append(metrics)
    for operation, by_threads in found.items():
        print(f"{operation:22}", *(f"{name:>8} {'ratio':>17}" for name in METRICS))
        for threads, rows in by_threads.items():
            cells = []
            for metric, digits in METRICS.items():
                values, base = ([each[metric] for each in each_round] for each_round in (rows, by_threads[BASE]))
                cells.append(f"{statistics.median(values):8.{digits}f} {ratios(values, base):>17}")
            print(f"{threads:>2} threads{'':12}", *cells)


def main(rounds=8, seconds=1):
    with tempfile.TemporaryDirectory() as name, empty_database(Path(name)) as url, ExitStack() as stack:
        folder = Path(name)
        connection.settings_dict["NAME"] = dj_database_url.parse(url)["NAME"]
        call_command("migrate", verbosity=0)
        accounts = create_accounts()
        services = {}
        for threads in THREADS:
            (folder / str(threads)).mkdir()
            service = Service(folder / str(threads), url, **SERVICE, GRANIAN_BLOCKING_THREADS=str(threads))
            services[threads] = stack.enter_context(service)
        print("The database as it is")
        compare(services, accounts, folder, rounds, seconds)
        print("\nWrites take 20 ms longer")
        with connection.cursor() as cursor:
            cursor.execute(SLOW)
        connection.close()
        compare(services, accounts, folder, rounds, seconds)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
