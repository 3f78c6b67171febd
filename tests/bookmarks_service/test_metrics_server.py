"""Prometheus metrics of a server with two processes."""

import os
import re
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.bookmarks_service.service import Service, empty_database
from tests.servers import TIMEOUT, free_port, wait_until
from tests.test_docs import page, rows_under

pytestmark = pytest.mark.once


class MeteredService(Service):
    """A service with two workers, whose metrics can be scraped."""

    def __init__(self, folder, database_url, **variables):
        self.metrics_port = free_port()
        self.folder = folder / "temporary"
        self.folder.mkdir()
        address = f"127.0.0.1:{self.metrics_port}"
        variables = {"TMPDIR": str(self.folder), "METRICS_ADDRESS": address, "WEB_CONCURRENCY": "2", **variables}
        super().__init__(folder, database_url, **variables)

    def serves(self):
        return super().serves() and self.value("request_threads") == 16

    def scrape(self):
        response = httpx.get(f"http://127.0.0.1:{self.metrics_port}/metrics", timeout=TIMEOUT, verify=False)
        assert response.status_code == 200
        return response.text

    def families(self):
        return list(text_string_to_metric_families(self.scrape()))

    def value(self, name, **labels):
        samples = [sample for family in self.families() for sample in family.samples]
        wanted = f"bookmarks_service_{name}"
        return sum(each.value for each in samples if each.name == wanted and labels.items() <= each.labels.items())

    def updates(self):
        return self.value("requests_total", operation="update_user_group", status="200")

    def update(self, count):
        """Make this number of calls on new connections, four at a time."""
        with httpx.Client(timeout=TIMEOUT) as client, ThreadPoolExecutor(4) as pool:
            answers = pool.map(lambda n: self.update_user_group(client, name=str(n)).status_code, range(count))
            assert set(answers) == {200}


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    folder = tmp_path_factory.mktemp("metrics")
    with empty_database(folder) as database_url, MeteredService(folder, database_url) as running:
        yield running
    assert list(running.folder.glob("*metrics*")) == []


def test_the_requests_of_each_worker_are_counted(service):
    before = service.updates()

    for pid in service.worker_pids():  # While one worker is stopped, the other one answers and serves the metrics.
        time.sleep(1)  # A thread that is stopped on its way out of a transaction would keep SQLite's lock.
        os.kill(pid, signal.SIGSTOP)
        service.update(10)
        seen = service.updates()
        os.kill(pid, signal.SIGCONT)
        before += 10
        assert seen == before


def replace_a_worker(service):
    before = set(service.worker_pids())
    os.kill(min(before), signal.SIGKILL)
    wait_until(lambda: set(service.worker_pids()) != before and service.value("request_threads") == 16)


def test_counts_survive_a_killed_worker_and_a_reload(service):
    before, timed = service.updates(), service.value("request_duration_seconds_count", operation="update_user_group")
    service.update(10)

    replace_a_worker(service)
    service.update(10)
    replaced = set(service.worker_pids())
    service.process.send_signal(signal.SIGHUP)
    wait_until(lambda: replaced.isdisjoint(service.worker_pids()) and service.value("request_threads") == 16)
    service.update(10)

    assert service.updates() == before + 30
    assert service.value("request_duration_seconds_count", operation="update_user_group") == timed + 30


def test_a_replaced_worker_adds_no_files(service):
    replace_a_worker(service)

    [folder] = service.folder.glob("*metrics*")
    numbers = {re.search(r"_(\d+)\.db$", file.name)[1] for file in folder.iterdir()}
    assert numbers <= {"0", "1", "2", "3"}  # 2 and 3 if the service was reloaded


def test_metrics_can_be_scraped_under_load(service):
    with ThreadPoolExecutor(1) as pool:
        load = pool.submit(service.update, 100)
        seen = [service.updates()]
        while not load.done():
            seen.append(service.updates())
        load.result()

    assert seen == sorted(seen)
    assert service.updates() == seen[0] + 100


def test_the_metrics_are_not_on_the_public_port(service):
    response = service.request("GET", "/metrics")

    assert response.status_code == 404
    assert response.json()["errors"][0]["code"] == "not_found"


def test_the_metrics_contain_nothing_of_a_request(service):
    service.update_user_group(name="Private name")
    service.create_bookmark(url="https://private.example/")
    service.request("GET", f"/private-path/{service.access_token}?token={service.api_token}")
    service.request("GET", "/v1/bookmarks", headers={"Authorization": f"Bearer {service.access_token}x"})
    scraped = service.scrape().lower()

    private = ["private", "127.0.0.1", "example_1", "uga_", "bma_", "v1/bookmarks", service.password.lower()]
    assert [each for each in private if each in scraped] == []
    assert 'operation="create_bookmark"' in scraped


def test_gauges_show_connections_and_threads(service):
    with closing(service.connect(b"GET /livez HTTP/1.1\r\n")):
        wait_until(lambda: service.value("connections", state="reading") == 1)
    with httpx.Client() as client:
        service.update_user_group(client)
        wait_until(lambda: service.value("connections", state="idle") == 1)
    wait_until(lambda: service.value("connections") == 0)

    assert service.value("database_connections") > 0


def test_all_metrics_are_documented_with_their_labels(service):
    service.update_user_group()
    wait_until(lambda: service.value("request_threads") == 16)
    found = {}
    for family in service.families():
        for sample in family.samples:
            name = re.sub("_(bucket|sum|count)$", "", sample.name)
            found.setdefault(name, set()).update(sample.labels.keys() - {"le"})

    rows = rows_under(page("deploy"), "Metrics")
    documented = {row[0].strip("`"): set(re.findall(r"`(\w+)`", row[1])) for row in rows if "bookmarks_s" in row[0]}
    assert documented == found
