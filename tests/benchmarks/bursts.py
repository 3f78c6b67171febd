"""Measure bursts of one token, and what another team notices of it.

    DATABASE_URL=postgres://... python -m tests.benchmarks.bursts [PROCESSES]

The service runs as docs/deploy.md says, with PROCESSES processes (default 1),
alone and behind nginx, on SQLite if DATABASE_URL is not set.

For each burst, it prints how many of the parallel calls were refused, the most
of five bursts, and the median of the seconds until the last response. Then it
prints the median and the p99 of the calls of another team, one after another
for five seconds: alone, beside clients of one token that repeat a call in a
loop, and, on PostgreSQL, while 40 updates of one user group wait for a lock.

If calls did not wait for their turn, and the seventh of an owner were refused,
up to 104 of 200 would be, and 174 on SQLite. A process with 249 threads took 182
MiB of memory on PostgreSQL, and 99 MiB with eight threads. On SQLite, whose
threads have a connection each, it took 356 MiB with 204.
"""

import asyncio
import json
import statistics
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from itertools import count
from pathlib import Path

import psycopg

from tests.bookmarks_service.nginx import Nginx
from tests.bookmarks_service.service import Service, empty_database

SECONDS = 5
serial = count()


def post(number):
    body = {"url": f"https://example.com/{number}", "title": f"Title {number}"}
    return "POST", "/v1/bookmarks", body


def search(number):
    return "GET", f"/v1/bookmarks?q=title%20{number}", None


def batch(number):
    urls = [f"https://example.com/{number}/{n}" for n in range(5)]
    return "POST", "/v1/bookmarks/batch", {"bookmarks": [{"url": url} for url in urls]}


def update(number):
    body = {"user_group_id": "example_1", "name": f"Name {number}"}
    return "PUT", "/api/user", body


BURSTS = [(post, 8), (post, 32), (post, 200), (update, 200), (search, 32), (batch, 32)]


async def respond(port, authorization, kind):
    """Make a call, and return its status and seconds."""
    method, path, body = kind(next(serial))
    content = b"" if body is None else json.dumps(body).encode()
    head = (
        f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
        f"Authorization: {authorization}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(content)}\r\n\r\n"
    )
    start = time.perf_counter()
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(head.encode() + content)
    response = await reader.read()
    writer.close()
    status = int(response.split()[1]) if response else 0
    return status, time.perf_counter() - start


async def burst(port, authorization, kind, number):
    """Make calls at once, and return their statuses and seconds together."""
    start = time.perf_counter()
    calls = [respond(port, authorization, kind) for _ in range(number)]
    statuses = Counter(status for status, _ in await asyncio.gather(*calls))
    return statuses, time.perf_counter() - start


async def repeat(port, authorization, kind, found):
    """Repeat a call until the task is cancelled, after a second if it was
    refused.
    """
    while True:
        status, _ = await respond(port, authorization, kind)
        found[status] += 1
        if status == 429:
            await asyncio.sleep(1)


async def others(port, authorization):
    """Return a description of the calls of another team."""
    seconds = []
    end = time.perf_counter() + SECONDS
    while time.perf_counter() < end:
        status, taken = await respond(port, authorization, post)
        assert status == 201, status
        seconds.append(taken * 1000)
    p99 = sorted(seconds)[int(len(seconds) * 0.99)]
    return (
        f"p50 {statistics.median(seconds):.1f} ms, p99 {p99:.1f} ms, "
        f"longest {max(seconds):.0f} ms, {len(seconds)} calls"
    )


async def beside(clients, port, authorization, kind, other):
    """Return the description of ``others`` beside the clients of a token."""
    found = Counter()
    tasks = [
        asyncio.create_task(repeat(port, authorization, kind, found))
        for _ in range(clients)
    ]
    text = await others(port, other)
    for task in tasks:
        task.cancel()
    with suppress(asyncio.CancelledError):
        await asyncio.gather(*tasks)
    return f"{text}; {dict(found)}"


async def measure(service, ports, other):
    token = f"Bearer {service.access_token}"
    api_token = f"Token {service.api_token}"
    await burst(service.port, token, post, 50)
    for name, port in ports.items():
        for kind, number in BURSTS:
            scheme = api_token if kind is update else token
            results = [await burst(port, scheme, kind, number) for _ in range(5)]
            refused = [statuses[429] for statuses, _ in results]
            failed = sum((each for each, _ in results), Counter())
            for status in (200, 201, 429):
                failed.pop(status, None)
            seconds = statistics.median(taken for _, taken in results)
            print(
                f"{name:7} {kind.__name__:7} {number:4} refused "
                f"{max(refused):4}, {seconds:.2f} s, {dict(failed)}",
                flush=True,
            )
    port = service.port
    for clients, kind in [
        (0, post),
        (16, post),
        (100, post),
        (200, post),
        (16, search),
    ]:
        text = await beside(clients, port, token, kind, other)
        print(f"others beside {clients:3} {kind.__name__:6} {text}", flush=True)
    if service.database_url.startswith("sqlite"):
        return
    with psycopg.connect(service.database_url) as connection:
        connection.execute(
            "SELECT FROM usergroups_usergroup "
            "WHERE provided_id = 'example_1' FOR UPDATE"
        )
        for clients in (40, 200):
            text = await beside(clients, port, api_token, update, other)
            print(f"others beside {clients} that wait for a lock {text}", flush=True)


def main(processes=1):
    with (
        tempfile.TemporaryDirectory() as name,
        empty_database(Path(name)) as url,
        Service(Path(name), url, GRANIAN_WORKERS=str(processes)) as service,
        Nginx(Path(name), f"127.0.0.1:{service.port}") as nginx,
    ):
        other = f"Bearer {service.issue_tokens('Other')[1]}"
        ports = {"direct": service.port, "nginx": nginx.port}
        asyncio.run(measure(service, ports, other))
        for pid in service.worker_pids():
            for line in Path(f"/proc/{pid}/status").read_text().splitlines():
                if line.startswith(("VmRSS", "Threads")):
                    print(pid, line)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
