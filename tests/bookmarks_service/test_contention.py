"""Concurrent calls on the same objects cause neither server errors nor failed authentications."""

import random
import threading
from collections import Counter

import httpx

from tests.servers import TIMEOUT

CALLS = 100
"""The calls of a test. Nine callers make them in a few seconds, while a conflict takes a few milliseconds."""


class Caller(threading.Thread):
    """Repeats an action until all callers together have made enough calls."""

    def __init__(self, service, act, statuses):
        super().__init__()
        self.service, self.act, self.statuses = service, act, statuses

    def run(self):
        with httpx.Client(base_url=self.service.base_url, timeout=TIMEOUT) as self.client:
            while len(self.statuses) < CALLS:
                self.act(self)

    def call(self, method, path, body=None):
        token = f"Token {self.service.api_token}" if path.startswith("/api") else f"Bearer {self.service.access_token}"
        response = self.client.request(method, path, json=body, headers={"Authorization": token})
        self.statuses.append(response.status_code)
        return response.json()


def count_statuses(service, *acts):
    """Repeat the actions at the same time and count the statuses of the answers."""
    statuses = []
    callers = [Caller(service, act, statuses) for act in acts]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    return Counter(statuses)


def test_concurrent_calls_on_user_groups_do_not_fail(service):
    names = [f"group_{n}" for n in range(8)]

    def put(caller):
        items = [{"user_group_id": name, "name": "New"} for name in random.sample(names, 8)]
        caller.call("POST", "/api/users/batch", {"user_groups": items})

    def create(caller):
        caller.call("POST", "/api/user", {"user_group_id": random.choice(names)})

    def update(caller):
        caller.call("PUT", "/api/user", {"user_group_id": random.choice(names), "name": "Other"})

    def delete(caller):
        caller.call("DELETE", f"/api/user?user_group_id={random.choice(names)}")

    statuses = count_statuses(service, put, put, put, create, create, update, delete, delete)

    assert statuses.keys() <= {200, 201, 404}


def test_concurrent_calls_on_collections_do_not_fail(service):  # noqa: C901
    urls = [f"https://example.com/{n}" for n in range(100)]
    collections = [None]

    def make(caller):
        answer = caller.call("POST", "/v1/collections", {"name": random.choice(["a", "b"])})
        if "collection" in answer:
            collections.append(answer["collection"]["id"])

    def drop(caller):
        if (key := random.choice(collections)) is not None:
            caller.call("DELETE", f"/v1/collections/{key}")

    def fill(caller):
        items = [{"url": url, "collection": random.choice(collections[-3:])} for url in random.sample(urls, 50)]
        caller.call("POST", "/v1/bookmarks/batch", {"bookmarks": items})

    def add(caller):
        caller.call(
            "POST", "/v1/bookmarks", {"url": random.choice(urls), "collection": random.choice(collections[-3:])}
        )

    def move(caller):
        for bookmark in caller.call("GET", "/v1/bookmarks?limit=5")["bookmarks"]:
            body = {"collection": random.choice(collections[-3:])}
            caller.call("PATCH", f"/v1/bookmarks/{bookmark['id']}", body)

    def clear(caller):
        for bookmark in caller.call("GET", "/v1/bookmarks?limit=5")["bookmarks"]:
            caller.call("DELETE", f"/v1/bookmarks/{bookmark['id']}")

    statuses = count_statuses(service, make, drop, fill, fill, fill, add, move, clear)

    assert statuses.keys() <= {200, 201, 400, 404, 409}
