"""Compare the topologies of the database: plain PostgreSQL, PgBouncer, hash partitions and Citus.

    python -m tests.benchmarks.topologies [SECONDS [NAME ...]]

For each topology, the script makes the calls of ``tests/host/projects/calls.py`` and compares the responses with those
on plain PostgreSQL, runs races with 32 callers, creates bookmarks for SECONDS (default 60) while workers are killed and
the topology suffers a fault, and measures PUT, POST and list calls a second with ``wrk``, each in turns with plain
PostgreSQL. It prints the results of each. Citus needs CITUS_URL, the URL of a database on a coordinator whose tables
are dropped, and CITUS_RESTART, a shell command that kills a worker and starts it again.
"""

import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import psycopg

from tests.bookmarks_service.cluster import Cluster
from tests.bookmarks_service.pooler import Pooler
from tests.bookmarks_service.service import Service, manage
from tests.bookmarks_service.test_nothing_is_lost import Load, stored
from tests.host.projects.calls import CALLS
from tests.host.projects.hosts import service as host_of_the_service
from tests.host.test_same_bytes import parts_of
from tests.partitions import partition
from tests.servers import TIMEOUT

CALLERS = 32
ROUNDS, ROUND = 3, 4  # how often each rate is measured, and for how many seconds

PUT = """
wrk.method, wrk.path = "PUT", "/api/user"
wrk.headers["Authorization"], wrk.headers["Content-Type"] = "Token {api_token}", "application/json"
wrk.body = '{{"user_group_id": "example_1", "name": "Example", "properties": {{"plan": "pro"}}}}'
"""
POST = """
local count, start = 0, os.time() .. math.random(1e9)
wrk.headers["Authorization"], wrk.headers["Content-Type"] = "Bearer {access_token}", "application/json"
function request()
  count = count + 1
  return wrk.format("POST", "/v1/bookmarks", nil, '{{"url": "https://example.com/' .. start .. '/' .. count .. '"}}')
end
"""
LIST = """
wrk.path = "/v1/bookmarks?limit=20"
wrk.headers["Authorization"] = "Bearer {access_token}"
"""
SCRIPTS = {"PUT": PUT, "POST": POST, "list": LIST}


class Topology(NamedTuple):
    """A running database."""

    variables: dict[str, str]
    """The settings of the service."""
    direct_url: str
    """The database itself, not the pooler in front of it."""
    fault: Callable[[], None]
    partitions: int = 0
    """The number of hash partitions, if any."""
    has_citus: bool = False

    def prepare(self) -> None:
        """Empty the database, migrate it and distribute the tables."""
        with psycopg.connect(self.direct_url, autocommit=True) as connection:
            query = "SELECT string_agg(quote_ident(tablename), ', ') FROM pg_tables WHERE schemaname = 'public'"
            if tables := connection.execute(query).fetchone()[0]:
                connection.execute(f"DROP TABLE {tables} CASCADE")
        settings = {"DATABASE_URL": self.direct_url, "SECRET_KEY": "not-a-secret"}
        for command in ("migrate", "distribute") if self.has_citus else ("migrate",):
            result = manage(command, **settings)
            assert result.returncode == 0, result.stderr
        if self.partitions:
            with psycopg.connect(self.direct_url) as connection, connection.cursor() as cursor:
                partition(cursor, self.partitions)


def restart(server: Any) -> None:
    server.stop()
    time.sleep(2)
    server.start()


@contextmanager
def plain() -> Iterator[Topology]:
    with Cluster() as cluster:
        yield Topology({"DATABASE_URL": cluster.url}, cluster.url, lambda: restart(cluster))


@contextmanager
def pgbouncer() -> Iterator[Topology]:
    with Cluster() as cluster, Pooler(cluster.url) as pooler:
        yield Topology({"DATABASE_URL": pooler.url}, cluster.url, lambda: restart(pooler))


@contextmanager
def hash_partitions() -> Iterator[Topology]:
    with Cluster() as cluster:
        variables = {"DATABASE_URL": cluster.url}
        yield Topology(variables, cluster.url, lambda: restart(cluster), partitions=16)


@contextmanager
def citus() -> Iterator[Topology]:
    url = os.environ["CITUS_URL"]

    def restart_a_node() -> None:
        subprocess.run(os.environ["CITUS_RESTART"], shell=True, check=True, timeout=TIMEOUT)

    yield Topology({"DATABASE_URL": url}, url, restart_a_node, has_citus=True)


TOPOLOGIES = {
    "plain PostgreSQL": plain,
    "PgBouncer": pgbouncer,
    "hash partitions": hash_partitions,
    "Citus": citus,
}


def responses(topology: Topology, folder: Path) -> dict[str, Any]:
    """Return the parts of the response to each call."""
    topology.prepare()
    host = host_of_the_service(folder)
    host = host._replace(environment={**host.environment, **topology.variables})
    with host.serve(folder / "log") as address:
        return {name: parts_of(host, host.send(address, call)) for name, call in CALLS.items()}


def statuses(call: Callable[[], httpx.Response]) -> list[int]:
    """Make a call from 32 threads at once and return the sorted statuses."""
    with ThreadPoolExecutor(CALLERS) as pool:
        return sorted(pool.map(lambda _: call().status_code, range(CALLERS)))


def races(service: Service) -> dict[str, bool]:
    """Return for each race of 32 callers whether it ended as if one had come after the other."""

    def call(method: str, path: str, body: object = None, **headers: str) -> httpx.Response:
        token = f"Token {service.api_token}" if path.startswith("/api") else f"Bearer {service.access_token}"
        return service.request(method, path, json=body, headers={"Authorization": token, **headers})

    def new(path: str, kind: str, **fields: str) -> str:
        return str(call("POST", path, fields).json()[kind]["id"])

    def one(status: int, others: int) -> list[int]:
        return sorted([status] + [others] * (CALLERS - 1))

    url, urls = {"url": "https://example.com/race"}, [{"url": f"https://example.com/race/{n}"} for n in range(20)]
    changed, deleted = (new("/v1/bookmarks", "bookmark", url=f"https://example.com/{n}") for n in ("a", "b"))
    collection = new("/v1/collections", "collection", name="Deleted once")
    etag = call("GET", f"/v1/bookmarks/{changed}").headers["ETag"]
    results = {
        "create a bookmark": statuses(lambda: call("POST", "/v1/bookmarks", url)) == one(201, 200),
        "create a collection": statuses(lambda: call("POST", "/v1/collections", {"name": "Race"})) == one(201, 409),
        "create a user group": statuses(lambda: call("POST", "/api/user", {"user_group_id": "race"})) == one(201, 200),
        "update one version": statuses(
            lambda: call("PATCH", f"/v1/bookmarks/{changed}", {"title": "A"}, **{"If-Match": etag})
        )
        == one(200, 412),
        "delete a bookmark": statuses(lambda: call("DELETE", f"/v1/bookmarks/{deleted}")) == one(200, 404),
        "delete a collection": statuses(lambda: call("DELETE", f"/v1/collections/{collection}")) == one(200, 404),
    }
    with ThreadPoolExecutor(3) as pool:  # the limit on batches of one user group
        batches = list(pool.map(lambda _: call("POST", "/v1/bookmarks/batch", {"bookmarks": urls}), range(3)))
    created = [result["status"] for batch in batches for result in batch.json()["results"]]
    return {**results, "create many bookmarks": sorted(created) == [200] * 40 + [201] * 20}


def rate(service: Service, script: Path) -> float:
    """Return the calls a second that 8 connections make. Raises AssertionError if a response has another status."""
    command = ["wrk", "-t1", "-c8", f"-d{ROUND}s", "-s", str(script), service.base_url]
    output = subprocess.run(command, check=True, capture_output=True, text=True, timeout=TIMEOUT).stdout
    assert "Non-2xx" not in output, output
    return float(re.search(r"Requests/sec:\s+([\d.]+)", output)[1])


def relative_rates(service: Service, reference: Service, folder: Path) -> dict[str, float]:
    """Return, for each kind of call, the calls a second as a multiple of those of ``reference``."""
    ratios = {}
    for name, text in SCRIPTS.items():
        pairs = []
        for _ in range(ROUNDS):
            pair = []
            for each in (service, reference):
                script = folder / "script.lua"
                script.write_text(text.format(api_token=each.api_token, access_token=each.access_token))
                pair.append(rate(each, script))
            pairs.append(pair[0] / pair[1])
        ratios[name] = round(statistics.median(pairs), 2)
    return ratios


def running(topology: Topology, folder: Path) -> Service:
    folder.mkdir()
    topology.prepare()
    variables = {key: value for key, value in topology.variables.items() if key != "DATABASE_URL"}
    limits = {"GRANIAN_WORKERS": "2", "USERGROUPS_CALL_RATE": ""}
    return Service(folder, topology.variables["DATABASE_URL"], **limits, **variables)


def lose_nothing(service: Service, seconds: int, fault: Callable[[], None]) -> dict[str, int]:
    """Create bookmarks while two workers are killed, with ``fault()`` in between. Return how many were lost."""
    with Load(service) as load:
        for disturb in (kill_a_worker, lambda _: fault(), kill_a_worker):
            time.sleep(seconds / 4)
            disturb(service)
        time.sleep(seconds / 4)
    return {"acknowledged": len(load.acknowledged), "of these lost": len(load.acknowledged - stored(service))}


def kill_a_worker(service: Service) -> None:
    os.kill(service.worker_pids()[0], signal.SIGKILL)


def main(seconds: str = "60", *names: str) -> None:
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        reference = stack.enter_context(plain())
        expected = responses(reference, folder)
        fast = stack.enter_context(running(reference, folder / "reference"))
        for title in names or TOPOLOGIES:
            if title == "Citus" and "CITUS_URL" not in os.environ:
                continue
            with TOPOLOGIES[title]() as topology:
                found = responses(topology, folder)
                different = {
                    f"{call}, {part}": (value, found[call].get(part))
                    for call, parts in expected.items()
                    for part, value in parts.items()
                    if part != "content-security-policy" and found[call].get(part) != value  # its order is random
                }
                print(f"\n{title}: {different or f'all {len(CALLS)} responses as on plain PostgreSQL'}")
                with running(topology, folder / title) as service:
                    print(races(service))
                    print(relative_rates(service, fast, folder))
                    print(lose_nothing(service, int(seconds), topology.fault), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
