"""Make mixed calls for minutes while the database is restarted and workers are killed, and check what is stored.

    python -m tests.benchmarks.soak [SECONDS]

Starts two processes of the service on a PostgreSQL server of its own and makes calls on 16 connections. Prints how many
writes were acknowledged, how many of them were found afterwards, and all responses that violate the contract.
"""

import os
import random
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

import httpx

from tests.bookmarks_service.cluster import Cluster
from tests.bookmarks_service.service import Service
from tests.bookmarks_service.test_nothing_is_lost import stored

CALLERS = 16
ALLOWED = {200, 201, 400, 404, 409, 429, 503}


class Caller(threading.Thread):
    """Makes calls one after another and remembers which writes were acknowledged."""

    def __init__(self, service, number, end):
        super().__init__()
        self.service, self.number, self.end = service, number, end
        self.statuses, self.violations, self.unanswered = Counter(), [], 0
        self.created, self.deleted, self.unknown = {}, set(), set()
        self.name, self.names = f"soak_{number}", set()

    def run(self):
        actions = [self.create, self.create, self.create_many, self.update, self.read, self.delete, self.send_invalid]
        with httpx.Client(base_url=self.service.base_url, timeout=60) as client:
            count = 0
            while time.monotonic() < self.end:
                count += 1
                random.choice(actions)(client, count)

    def call(self, client, method, path, body=None):
        """Return the response, or None if there was none."""
        token = f"Token {self.service.api_token}" if path.startswith("/api") else f"Bearer {self.service.access_token}"
        try:
            response = client.request(method, path, json=body, headers={"Authorization": token})
        except httpx.TransportError:
            self.unanswered += 1
            return None
        self.statuses[response.status_code] += 1
        try:
            is_valid = response.json()["success"] == (response.status_code < 300)
        except (ValueError, KeyError, TypeError):
            is_valid = False
        if response.status_code not in ALLOWED or not is_valid:
            self.violations.append(f"{response.status_code} {response.text[:200]}")
        return response

    def url(self, count, n=0):
        return f"https://example.com/{self.number}/{count}/{n}"

    def create(self, client, count):
        response = self.call(client, "POST", "/v1/bookmarks", {"url": self.url(count)})
        if response is None:
            self.unknown.add(self.url(count))  # it may be stored or not
        elif response.status_code in (200, 201):
            self.created[self.url(count)] = response.json()["bookmark"]["id"]

    def create_many(self, client, count):
        urls = [self.url(count, n) for n in range(20)]
        response = self.call(client, "POST", "/v1/bookmarks/batch", {"bookmarks": [{"url": url} for url in urls]})
        if response is None:
            self.unknown |= set(urls)
        elif response.status_code == 200:
            self.created |= {
                url: result["bookmark"]["id"] for url, result in zip(urls, response.json()["results"], strict=True)
            }

    def update(self, client, count):
        """Update a user group of this caller only, and remember the names that it may have now."""
        body = {"user_group_id": self.name, "name": str(count)}
        response = self.call(client, "POST", "/api/users/batch", {"user_groups": [body]})
        if response is None:
            self.names.add(str(count))
        elif response.status_code == 200:
            self.names = {str(count)}

    def read(self, client, count):
        self.call(client, "GET", "/v1/bookmarks?limit=20&q=example.com")
        self.call(client, "GET", "/api/users?limit=20")

    def delete(self, client, count):
        if self.created:
            url, key = self.created.popitem()
            response = self.call(client, "DELETE", f"/v1/bookmarks/{key}")
            if response is None or response.status_code == 503:
                self.unknown.add(url)
            else:
                self.deleted.add(url)

    def send_invalid(self, client, count):
        self.call(client, "POST", "/v1/bookmarks", {"url": "x"})


def soak(service, seconds, fault):
    """Make mixed calls for ``seconds``, kill a worker five times, and call ``fault()`` once. Return the results."""
    before, end = stored(service), time.monotonic() + seconds
    callers = [Caller(service, number, end) for number in range(CALLERS)]
    for caller in callers:
        caller.start()
    for step in range(6):
        time.sleep(seconds / 7)
        if step == 2:
            fault()
        else:
            os.kill(random.choice(service.worker_pids()), signal.SIGKILL)
    for caller in callers:
        caller.join()
    return results(service, callers, stored(service) - before)


def results(service, callers, found):
    """Compare what was acknowledged with the stored URLs, ``found``."""
    created, deleted, unknown = (
        {url for caller in callers for url in getattr(caller, name)} for name in ("created", "deleted", "unknown")
    )
    headers = {"Authorization": f"Token {service.api_token}"}
    groups = httpx.get(f"{service.base_url}/api/users?limit=200", headers=headers).json()["user_groups"]
    names = {group["provided_id"]: group["name"] for group in groups}
    statuses = sum((caller.statuses for caller in callers), Counter())
    return {
        "responses": statuses.total(),
        "by status": dict(sorted(statuses.items())),
        "calls without a response": sum(caller.unanswered for caller in callers),
        "bookmarks acknowledged": len(created),
        "of these lost": len(created - found),
        "deletions acknowledged": len(deleted),
        "of these undone": len(deleted & found),
        "stored without a call": len(found - created - unknown),
        "lost updates": sum(bool(caller.names) and names.get(caller.name) not in caller.names for caller in callers),
        "violations of the contract": dict(Counter(each for caller in callers for each in caller.violations)),
    }


def main(seconds=300):
    with Cluster() as cluster, tempfile.TemporaryDirectory() as folder:

        def restart():
            with cluster.stopped():
                time.sleep(2)

        with Service(Path(folder), cluster.url, GRANIAN_WORKERS="2") as service:
            for name, result in soak(service, seconds, restart).items():
                print(f"{name}: {result}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
