"""Minutes of mixed calls, while the database is restarted and workers are killed: is all that was acknowledged there?

    DATABASE_URL=postgres://... python -m tests.benchmarks.soak [SECONDS]

Two processes of the service on a PostgreSQL server of its own, 16 connections, loopback alone. Prints how many calls
were acknowledged, how many of them were found, and every answer that the contract does not have.
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

ALLOWED = {200, 201, 400, 404, 409, 503}


class Caller(threading.Thread):
    """Makes calls one after another; remembers what was acknowledged."""

    def __init__(self, service, number, end):
        super().__init__()
        self.service, self.number, self.end = service, number, end
        self.statuses, self.strange, self.broken = Counter(), [], 0
        self.created, self.deleted, self.unknown = {}, set(), set()
        self.name, self.names = f"soak_{number}", set()

    def run(self):
        with httpx.Client(base_url=self.service.base_url, timeout=60) as client:
            count = 0
            while time.monotonic() < self.end:
                count += 1
                random.choice(
                    [self.create, self.create, self.create_many, self.update, self.read, self.delete, self.bad]
                )(client, count)

    def call(self, client, method, path, body=None):
        """Return the answer, or None if there was none."""
        token = f"Token {self.service.api_token}" if path.startswith("/api") else f"Bearer {self.service.access_token}"
        try:
            response = client.request(method, path, json=body, headers={"Authorization": token})
        except httpx.TransportError:
            self.broken += 1
            return None
        self.statuses[response.status_code] += 1
        try:
            well = response.json()["success"] == (response.status_code < 300)
        except (ValueError, KeyError, TypeError):
            well = False
        if response.status_code not in ALLOWED or not well:
            self.strange.append((response.status_code, response.text[:200]))
        return response

    def url(self, count, n=0):
        return f"https://example.com/{self.number}/{count}/{n}"

    def create(self, client, count):
        response = self.call(client, "POST", "/v1/bookmarks", {"url": self.url(count)})
        if response is None:
            self.unknown.add(self.url(count))  # it may be there or not: nobody said
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
        """Of a group of the caller's own: the names that it may have by now."""
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

    def bad(self, client, count):
        self.call(client, "POST", "/v1/bookmarks", {"url": "x"})


def main(seconds=300):
    with Cluster() as cluster, tempfile.TemporaryDirectory() as folder:
        service = Service(Path(folder), cluster.url, WEB_CONCURRENCY="2")
        with service:
            end = time.monotonic() + seconds
            callers = [Caller(service, number, end) for number in range(16)]
            for caller in callers:
                caller.start()
            kills = 0
            for step in range(6):
                time.sleep(seconds / 7)
                if step == 2:
                    cluster.stop()
                    time.sleep(2)
                    cluster.start()
                    print("the database was restarted")
                else:
                    os.kill(random.choice(service.worker_pids()), signal.SIGKILL)
                    kills += 1
            for caller in callers:
                caller.join()

            found = stored(service)
            created = {url for caller in callers for url in caller.created}
            deleted = {url for caller in callers for url in caller.deleted}
            unknown = {url for caller in callers for url in caller.unknown}
            headers = {"Authorization": f"Token {service.api_token}"}
            groups = httpx.get(f"{service.base_url}/api/users?limit=200", headers=headers).json()["user_groups"]
            names = {group["provided_id"]: group["name"] for group in groups}
            wrong = [caller for caller in callers if caller.names and names.get(caller.name) not in caller.names]
            statuses = sum((caller.statuses for caller in callers), Counter())
            print(f"{sum(statuses.values())} answers in {seconds} s, {kills} workers killed")
            print(f"by status: {dict(sorted(statuses.items()))}")
            print(f"without an answer: {sum(caller.broken for caller in callers)}")
            print(f"bookmarks acknowledged {len(created)}, found {len(created & found)}, lost {len(created - found)}")
            print(f"deletions acknowledged {len(deleted)}, undone {len(deleted & found)}")
            print(f"never asked for, yet there: {len(found - created - unknown)}")
            print(f"updates that are not the last acknowledged: {len(wrong)}")
            print(f"answers outside the contract: {[strange for caller in callers for strange in caller.strange]}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
