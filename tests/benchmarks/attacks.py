"""Measure how long the calls of one team take while another team sends what
costs most.

    DATABASE_URL=postgres://... python -m tests.benchmarks.attacks [SECONDS] [ATTACK ...]

The service runs as docs/deploy.md says: two instances, with two processes and
one, nginx, Redis and PostgreSQL, here all on one machine. A client makes calls
in turn, for SECONDS (default 8) alone and for as long beside each attack: GET of
a bookmark, POST of one and PUT of a user group. The attackers are threads of
another process, which wait for 10 ms after a 429.

For each attack it prints the p50 and p99 of the client's calls, what they were
just before it, the answers that the client and the attackers got, and the most
memory that a process of each instance had.

The p99 of the client's calls, in ms, on two cores of a virtual machine that
other programs shared: 3.9 without attacks (2.9 to 6.7).

    12, 38  4 or 16 clients that read a bookmark, for comparison
    7.8     CSV with 500,000 columns, 4 clients
    5.3     POST /v1/bookmarks/batch/delete with 8 MiB of "[],", 4 clients
    10      GET /api/users with pages of 2 MiB, 16 clients
    21      six imports of 8 MiB
    17      searches for bookmarks in the admin, 6 clients
    7.3     login with 64 kB of "%", 16 clients
    50      6,500 tags in If-Match, 16 clients
    48      lists of collections of a group that has 100,000, 16 clients
    55      deletion of three collections of 99,000 bookmarks, and POST into one,
            20 clients

The last three are ordinary calls of the first instance, whose processes 16
clients keep busy whatever they ask for.
"""

import http.client
import json
import multiprocessing
import re
import statistics
import sys
import tempfile
import threading
import time
from collections import Counter
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import dj_database_url
from django.db import connection, transaction

from bookmarks.models import AccessToken, Bookmark
from tests.benchmarks.operations import Call
from tests.bookmarks_service.nginx import UNVERIFIED, Nginx
from tests.bookmarks_service.service import Service, empty_database
from tests.bookmarks_service.test_several_hosts import redis_server
from usergroups.models import ApiToken, Team, UserGroup

MIB = 1024 * 1024
PAUSE = 0.01  # seconds after a 429
FORK = multiprocessing.get_context("fork")


class Owner(NamedTuple):
    """A user group and the headers with its tokens."""

    user_group: UserGroup
    token: str
    bearer: str
    bookmarks: list[Bookmark]


class Attack(NamedTuple):
    clients: int
    calls: list[Call]


def create_owner(team: Team, name: str, items: list[dict[str, Any]]) -> Owner:
    user_group = UserGroup.objects.create(team=team, provided_id=name, name=name)
    bookmarks = [
        stored.bookmark for stored in Bookmark.objects.add_many(user_group, items)
    ]
    return Owner(
        user_group,
        f"Token {ApiToken.objects.issue(team=team)[1]}",
        f"Bearer {AccessToken.objects.issue(user_group=user_group)[1]}",
        bookmarks,
    )


def large_item(number: int) -> dict[str, Any]:
    return {
        "url": f"https://example.com/{number}",
        "title": "😀" * 1000,
        "note": "😀" * 10_000,
        "tags": [f"{tag:03}".ljust(100, "😀") for tag in range(50)],
    }


def attacks_of(owner: Owner) -> dict[str, Attack]:
    """Return the attacks of a user group, by their names."""
    read = Call("GET", f"/v1/bookmarks/{owner.bookmarks[0].pk}", owner.bearer)
    one = owner.bookmarks[0].url
    again = json.dumps({"bookmarks": [{"url": one}] * 1000})
    ids = [str(owner.bookmarks[0].pk)] * 1000
    move = json.dumps({"ids": ids, "collection": None})
    csv = "url,a,b\n" + 'a"b,"c\n' * 2000
    names = [
        {"id": str(n), "name": "/ " * 100 + "x", "parentId": str(n - 1)}
        for n in range(100)
    ]
    lists = [each["id"] for each in names]
    folders = {"lists": names, "bookmarks": [{"url": one, "lists": lists}] * 10}
    put = json.dumps({"user_group_id": owner.user_group.provided_id, "name": "UNIQUE"})
    return {
        "readers": Attack(16, [read]),
        "pages": Attack(12, [Call("GET", "/v1/bookmarks?limit=200", owner.bearer)]),
        "repeated": Attack(
            4, [Call("POST", "/v1/bookmarks/batch", owner.bearer, again)]
        ),
        "moved": Attack(
            4, [Call("POST", "/v1/bookmarks/batch/move", owner.bearer, move)]
        ),
        "csv": Attack(4, [Call("POST", "/v1/imports?format=csv", owner.bearer, csv)]),
        "json": Attack(
            4,
            [
                Call(
                    "POST",
                    "/v1/imports?format=json",
                    owner.bearer,
                    json.dumps(folders),
                )
            ],
        ),
        "locked": Attack(40, [Call("PUT", "/api/user", owner.token, put)]),
    }


class Caller:
    """Makes calls on one connection to nginx, which it opens again if needed."""

    def __init__(self, port: int) -> None:
        self.connection = http.client.HTTPSConnection(
            "localhost", port, timeout=120, context=UNVERIFIED
        )

    def call(self, call: Call, unique: str) -> int:
        """Make a call and return its status, or 0 if it gets none."""
        headers = {
            "Authorization": call.authorization,
            "Content-Type": "application/json",
        }
        if call.path.startswith("/v1/imports"):
            headers["Content-Type"] = "application/octet-stream"
        body = call.body.replace("UNIQUE", unique).encode() or None
        try:
            self.connection.request(call.method, call.path, body, headers)
            response = self.connection.getresponse()
            response.read()
            return response.status
        except (OSError, http.client.HTTPException):
            self.connection.close()
            return 0


def attack(port: int, attack: Attack, stopped: Any, counts: Any) -> None:
    """Make the calls of an attack until it is stopped, and send the number of
    each status.
    """
    found: Counter[int] = Counter()

    def make(number: int) -> None:
        caller = Caller(port)
        position = number
        while not stopped.is_set():
            call = attack.calls[position % len(attack.calls)]
            status = caller.call(call, f"{number}-{position}")
            found[status] += 1
            position += 1
            if status == 429:
                time.sleep(PAUSE)

    threads = [
        threading.Thread(target=make, args=[number], daemon=True)
        for number in range(attack.clients)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    counts.send(found)


@contextmanager
def attacked(port: int, chosen: Attack, found: Counter[int]):
    stopped = FORK.Event()
    receiver, sender = FORK.Pipe(duplex=False)
    arguments = (port, chosen, stopped, sender)
    process = FORK.Process(target=attack, args=arguments, daemon=True)
    process.start()
    try:
        yield
    finally:
        stopped.set()
        # Some attacks take for ever.
        if receiver.poll(10):
            found.update(receiver.recv())
        process.kill()
        process.join()


def measure(
    port: int, calls: list[Call], seconds: float
) -> tuple[list[float], Counter[int]]:
    """Make the calls in turn, and return how long they took, in ms, and the
    number of each status.
    """
    caller = Caller(port)
    times = []
    statuses: Counter[int] = Counter()
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for call in calls:
            start = time.perf_counter()
            status = caller.call(call, str(time.time_ns()))
            times.append((time.perf_counter() - start) * 1000)
            statuses[status] += 1
    return times, statuses


def p50(times: list[float]) -> float:
    return statistics.median(times)


def p99(times: list[float]) -> float:
    return sorted(times)[int(len(times) * 0.99)]


def reset_memory(service: Service) -> None:
    for pid in service.worker_pids():
        with suppress(OSError):
            Path(f"/proc/{pid}/clear_refs").write_text("5")


def most_memory(service: Service) -> float:
    """Return the most memory that one of the processes had, in MiB."""
    found = [0]
    for pid in service.worker_pids():
        with suppress(OSError):
            status = Path(f"/proc/{pid}/status").read_text()
            found.append(int(re.search(r"VmHWM:\s+(\d+)", status)[1]))
    return max(found) / 1024


@contextmanager
def deployment(folder: Path):
    """Run the service, and yield the port of nginx and both instances."""
    with ExitStack() as stack:
        url = stack.enter_context(empty_database(folder))
        connection.settings_dict["NAME"] = dj_database_url.parse(url)["NAME"]
        stack.callback(connection.close)
        variables = {
            "BEHIND_TLS_PROXY": "1",
            "SECRET_KEY": "x" * 50,
            "CACHE_URL": stack.enter_context(redis_server(folder)),
        }
        web = stack.enter_context(
            Service(folder, url, **variables, GRANIAN_WORKERS="2")
        )
        bulk = Service(folder, url, **variables, GRANIAN_WORKERS="1")
        bulk.start()
        stack.callback(bulk.stop)
        addresses = [f"127.0.0.1:{each.port}" for each in (web, bulk)]
        (folder / "nginx").mkdir()
        nginx = stack.enter_context(Nginx(folder / "nginx", *addresses))
        yield nginx.tls_port, web, bulk


@contextmanager
def group_locked(user_group: UserGroup):
    with transaction.atomic():
        list(UserGroup.objects.filter(pk=user_group.pk).select_for_update())
        yield


def main(arguments: list[str]) -> None:
    seconds = int(arguments[0]) if arguments else 8
    chosen = arguments[1:]
    with (
        tempfile.TemporaryDirectory() as name,
        deployment(Path(name)) as (port, web, bulk),
    ):
        items = [large_item(number) for number in range(200)]
        team = Team.objects.create(name="Attackers")
        attackers = create_owner(team, "attackers", items)

        victim = create_owner(
            Team.objects.create(name="Others"), "victim", [{"url": "https://a.test/"}]
        )
        calls = [
            Call("GET", f"/v1/bookmarks/{victim.bookmarks[0].pk}", victim.bearer),
            Call(
                "POST",
                "/v1/bookmarks",
                victim.bearer,
                '{"url": "https://a.test/UNIQUE"}',
            ),
            Call(
                "PUT",
                "/api/user",
                victim.token,
                '{"user_group_id": "victim", "name": "UNIQUE"}',
            ),
        ]

        connection.close()
        measure(port, calls, 2)
        for title, each in attacks_of(attackers).items():
            if chosen and title not in chosen:
                continue
            alone, _ = measure(port, calls, seconds / 2)
            reset_memory(web)
            reset_memory(bulk)
            answered: Counter[int] = Counter()
            with ExitStack() as stack:
                stack.enter_context(attacked(port, each, answered))
                if title == "locked":
                    stack.enter_context(group_locked(attackers.user_group))
                time.sleep(1)
                times, statuses = measure(port, calls, seconds)
            print(
                f"{title:11} p50 {p50(times):7.1f} p99 {p99(times):7.1f} ms; before p50 "
                f"{p50(alone):5.1f} p99 {p99(alone):6.1f} ms; got {dict(statuses)}, "
                f"attackers {dict(answered)}; "
                f"{most_memory(web):.0f} and {most_memory(bulk):.0f} MiB",
                flush=True,
            )


if __name__ == "__main__":
    main(sys.argv[1:])
