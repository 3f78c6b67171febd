"""What a list costs that a standby answers, beside one that the primary answers, without and with writes.

    python -m tests.benchmarks.standbys [CALLS] [WRITES A SECOND]

A primary, a standby and two services, of which one has the standby, all on this machine. The calls alternate. Prints
the medians and 95th percentiles, how many of the calls the standby has answered, and how much CPU time the primary
server takes.
"""

import os
import statistics
import sys
import tempfile
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import httpx

from tests.bookmarks_service.cluster import Cluster
from tests.bookmarks_service.service import Service
from tests.bookmarks_service.standby import Standby

PATHS = ("/v1/bookmarks?limit=1", "/v1/bookmarks", "/v1/bookmarks?limit=200")

INSERT = """
    INSERT INTO bookmarks_bookmark (id, user_group_id, url, url_digest, title, created_at)
    SELECT gen_random_uuid(), user_group.id, url, sha256(url::bytea), '', now() - interval '1 day'
    FROM usergroups_usergroup AS user_group,
        (SELECT 'https://example.com/' || gen_random_uuid() AS url FROM generate_series(1, %s)) AS urls
"""


class DurableCluster(Cluster):
    settings = ["fsync=on"]


@contextmanager
def writes(cluster, rate, writers=4):
    """Commit single rows until the block ends. Yield a list with the number of commits of each writer."""
    counts, stopped = [0] * writers, threading.Event()

    def write(number):
        with cluster.connect() as connection:
            start = time.monotonic()
            while not stopped.is_set():
                connection.execute(INSERT, [1])
                counts[number] += 1
                time.sleep(max(0, start + counts[number] * writers / rate - time.monotonic()))

    threads = [threading.Thread(target=write, args=[number]) for number in range(writers if rate else 0)]
    for thread in threads:
        thread.start()
    yield counts
    stopped.set()
    for thread in threads:
        thread.join()


def percentiles(seconds):
    median, p95 = statistics.median(seconds), statistics.quantiles(seconds, n=20)[-1]
    return f"median {median * 1000:.2f} ms, p95 {p95 * 1000:.2f} ms"


def cpu_seconds(server):
    """Return the CPU time of a server and its processes, also of those that have ended."""
    pid = server.process.pid
    pids = [str(pid), *Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    fields = [Path(f"/proc/{each}/stat").read_text().rpartition(")")[2].split() for each in pids]
    ticks = [*fields[0][13:15], *(ticks for each in fields for ticks in each[11:13])]
    return sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")


def compare(services, path, calls):
    """Make calls in turn to each service. Return how many seconds each took, by the name of the service."""
    taken = {name: [] for name in services}
    token = next(iter(services.values())).access_token
    with httpx.Client(headers={"Authorization": f"Bearer {token}"}, timeout=60) as client:
        for _ in range(calls):
            for name, service in services.items():
                start = time.perf_counter()
                response = client.get(service.base_url + path)
                taken[name].append(time.perf_counter() - start)
                assert response.status_code == 200, response.text
    return taken


def main(calls=500, rate=250):
    with tempfile.TemporaryDirectory() as folder, DurableCluster() as cluster:
        alone = Service(Path(folder), cluster.url, WEB_CONCURRENCY="1")
        with alone, Standby(cluster) as standby:
            other = Path(tempfile.mkdtemp(dir=folder))
            with Service(other, cluster.url, WEB_CONCURRENCY="1", REPLICA_URL=standby.url) as service:
                services = {"primary": alone, "standby": service}
                alone.access_token = service.access_token  # The second quickstart has revoked the first one's tokens.
                with cluster.connect() as connection:
                    connection.execute(INSERT, [5000])
                    connection.execute("VACUUM ANALYZE bookmarks_bookmark")
                standby.catch_up()
                compare(services, "/v1/bookmarks", 20)
                for writes_a_second in (0, rate):
                    for path in PATHS:
                        before, start = standby.selects(), time.monotonic()
                        with writes(cluster, writes_a_second) as counts:
                            taken = compare(services, path, calls)
                        committed = sum(counts) / (time.monotonic() - start)
                        share = (standby.selects() - before) / calls
                        print(f"\n{path}, {committed:.0f} commits a second, {share:.1%} answered by the standby")
                        for name, seconds in taken.items():
                            print(f"  {name}: {percentiles(seconds)}")
                        ratio = statistics.median(taken["standby"]) / statistics.median(taken["primary"])
                        print(f"  ratio of the medians {ratio:.2f}")
                for path in PATHS:
                    for name, each in services.items():
                        before = cpu_seconds(cluster)
                        compare({name: each}, path, calls)
                        taken = (cpu_seconds(cluster) - before) / calls
                        print(f"{path}, {name}: {taken * 1000:.2f} ms of CPU time of the primary server")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
