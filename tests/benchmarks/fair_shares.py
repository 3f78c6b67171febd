"""What one caller can cost the others: large but legal calls, while another owner makes small ones.

    DATABASE_URL=postgres://... python -m tests.benchmarks.fair_shares [NAME ...]

Starts the service with two processes on a database of its own and prints for each attack how long it took, how large
its answer was, how much memory the processes took more than before, and how long the other owner waited at most.
"""

import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx

from tests.bookmarks_service.service import Service, empty_database

ROWS = 300_000
LARGE = 100_000


class Attacker:
    def __init__(self, service, folder):
        self.service, self.folder = service, folder
        self.client = httpx.Client(base_url=service.base_url, timeout=300)

    def call(self, method, path, **kwargs):
        token = f"Token {self.service.api_token}" if path.startswith("/api") else f"Bearer {self.access_token}"
        headers = {"Authorization": token, "Content-Type": "application/json"}
        return self.client.request(method, path, headers=headers, **kwargs)

    def new_group(self, name):
        """Make a user group and speak for it from now on."""
        self.call("POST", "/api/user", json={"user_group_id": name})
        made = self.service.manage("create_access_token", "--team", "Demo", "--user-group", name)
        self.access_token = made.stdout.strip()

    def fill(self, name, lines):
        path = self.folder / "bookmarks.jsonl"
        path.write_text("\n".join(lines))
        self.service.manage("import_bookmarks", str(path), "--team", "Demo", "--user-group", name)
        path.unlink()


def bad_mapping(attacker):
    members = ",".join(f'"{number}":[]' for number in range(90_000))
    body = f'{{"user_group_id":"example_1","mapping":{{{members}}}}}'
    return lambda: attacker.call("PUT", "/api/user", content=body)


def bad_mappings(attacker):
    members = ",".join(f'"{number}":[]' for number in range(650_000))
    body = f'{{"user_groups":[{{"user_group_id":"example_1","mapping":{{{members}}}}}]}}'
    return lambda: attacker.call("POST", "/api/users/batch", content=body)


def bad_items(attacker):
    item = {"user_group_id": "a", "mapping": {str(number): [] for number in range(900)}}
    return lambda: attacker.call("POST", "/api/users/batch", json={"user_groups": [item] * 800})


def long_hosts(attacker):
    attacker.new_group("hosts")
    host = "".join(map(chr, range(0x4E00, 0x4E00 + 7900)))
    items = [{"url": f"http://{host}/{number}"} for number in range(100)]
    return lambda: attacker.call("POST", "/v1/bookmarks/batch", json={"bookmarks": items})


def repeated_properties(attacker):
    items = [{"user_group_id": "a", "properties": {"text": "a" * 1_000_000}}, *[{"user_group_id": "a"}] * 300]
    return lambda: attacker.call("POST", "/api/users/batch", json={"user_groups": items})


def large_rows(attacker):
    for number in range(100):
        attacker.call("POST", "/api/user", json={"user_group_id": f"p{number}", "properties": {"a": "a" * 1_000_000}})
    return lambda: attacker.call("GET", "/api/users?limit=200")


def search_long(attacker):
    attacker.new_group("long")
    attacker.fill("long", ('{"url":"%s"}' % f"https://example.com/{n}/".ljust(8000, "a") for n in range(2000)))
    return lambda: attacker.call("GET", "/v1/bookmarks", params={"q": "b" + "a" * 99})


def search_many(attacker):
    attacker.new_group("many")
    attacker.fill("many", ('{"url":"https://example%d.com/%d"}' % (n % 999, n) for n in range(ROWS)))
    urls = [f"/v1/bookmarks?q=nowhere-{number}" for number in range(16)]

    def search():
        with ThreadPoolExecutor(16) as pool:
            return list(pool.map(lambda url: attacker.call("GET", url), urls))[-1]

    return search


def many_collections(attacker):
    attacker.new_group("collections")
    urls = [f"https://example.com/{number}" for number in range(1000)]
    lines = ('{"url":"%s","collection":"%d"}' % (url, number) for number in range(100) for url in urls)
    attacker.fill("collections", lines)
    made = attacker.call("GET", "/v1/collections?limit=200").json()["collections"]
    items = [{"url": url, "collection": made[number % 100]["id"]} for number, url in enumerate(urls)]
    return lambda: attacker.call("POST", "/v1/bookmarks/batch", json={"bookmarks": items})


def delete_collection(attacker):
    attacker.new_group("large")
    attacker.fill("large", ('{"url":"https://example.com/%d","collection":"Large"}' % n for n in range(LARGE)))
    [made] = attacker.call("GET", "/v1/collections").json()["collections"]
    return lambda: attacker.call("DELETE", f"/v1/collections/{made['id']}")


def delete_group(attacker):
    attacker.new_group("group")
    attacker.fill("group", ('{"url":"https://example.com/%d"}' % n for n in range(LARGE)))
    return lambda: attacker.call("DELETE", "/api/user?user_group_id=group")


def schema(attacker):
    def read():
        with ThreadPoolExecutor(16) as pool:
            return list(pool.map(lambda _: attacker.client.get("/schema/"), range(64)))[-1]

    return read


ATTACKS = {
    attack.__name__: attack
    for attack in (
        bad_mapping, bad_mappings, bad_items, long_hosts, repeated_properties, large_rows, search_long, search_many,
        many_collections, delete_collection, delete_group, schema,
    )
}  # fmt: skip


class Witness(threading.Thread):
    """Another owner, who creates a bookmark and lists bookmarks again and again."""

    def __init__(self, service):
        super().__init__()
        self.service, self.longest, self.stopped, self.statuses = service, 0.0, threading.Event(), set()

    def run(self):
        count = 0
        with httpx.Client(base_url=self.service.base_url, timeout=300) as client:
            while not self.stopped.wait(0.02):
                start = time.monotonic()
                count += 1
                created = self.service.create_bookmark(client, url=f"https://example.org/{id(self)}/{count}")
                self.statuses.add(created.status_code)
                self.longest = max(self.longest, time.monotonic() - start)


def memory(service):
    """Return the resident memory of the service's processes in MiB."""
    children = subprocess.run(["pgrep", "-P", str(service.process.pid)], capture_output=True, text=True, check=True)
    statuses = (Path(f"/proc/{pid}/status").read_text() for pid in children.stdout.split())
    return sum(int(status.partition("VmRSS:")[2].split()[0]) for status in statuses) // 1024


def main(names):
    print(f"{'attack':20} status  seconds answer KiB memory MiB others wait  statuses")
    for name in names or ATTACKS:
        with (
            tempfile.TemporaryDirectory() as folder,
            empty_database(Path(folder)) as database_url,
            Service(Path(folder), database_url, GRANIAN_WORKERS="2") as service,
        ):
            attack = ATTACKS[name](Attacker(service, Path(folder)))
            for number in range(50):
                service.create_bookmark(url=f"https://example.net/{number}")
            before, witness = memory(service), Witness(service)
            witness.start()
            time.sleep(0.5)
            witness.longest, start = 0.0, time.monotonic()
            response = attack()
            seconds = time.monotonic() - start
            time.sleep(5)  # for what goes on after the answer
            witness.stopped.set()
            witness.join()
            print(
                f"{name:20} {response.status_code:6} {seconds:8.2f} {len(response.content) // 1024:10} "
                f"{memory(service) - before:10} {witness.longest:11.2f}  {sorted(witness.statuses)}",
                flush=True,
            )


if __name__ == "__main__":
    main(sys.argv[1:])
