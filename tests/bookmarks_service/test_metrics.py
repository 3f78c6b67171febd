"""Prometheus metrics: what is measured, and how a server with two processes serves it."""

import re
import sys
from contextlib import closing

import httpx
import promql_parser
import pytest
import yaml
from django.test import RequestFactory
from django.urls import resolve
from drf_spectacular.generators import SchemaGenerator
from prometheus_client import REGISTRY
from prometheus_client.parser import text_string_to_metric_families

from bookmarks_service.metrics import observe
from tests.bookmarks_service.service import Service, empty_database, environment, workers_have_started
from tests.documents import ROOT, names, rows, section
from tests.servers import CERTIFICATES, TIMEOUT, free_port, listens, running_server, wait_until

REQUESTS = "bookmarks_service_requests_total"

pytestmark = pytest.mark.once


@pytest.fixture
def measured(settings):
    """Measure the requests of Django's test client. Return a function that returns the increase of a value."""
    settings.PROMETHEUS_MULTIPROC_DIR = "unused, because the metrics of this process are in its memory"
    before = values()
    return lambda name, **labels: values().get(key(name, labels), 0) - before.get(key(name, labels), 0)


def key(name, labels):
    return name, *sorted(labels.items())


def values():
    families = [each for each in REGISTRY.collect() if each.name.startswith("bookmarks_service_")]
    return {key(each.name, each.labels): each.value for family in families for each in family.samples}


def test_the_documented_alerts_are_valid():
    documented = names(section("observability", "Metrics"))
    rules = yaml.safe_load((ROOT / "docs/examples/alerts.yaml").read_text())["groups"][0]["rules"]

    assert len(rules) == 3
    for rule in rules:
        promql_parser.parse(rule["expr"])
        used = {re.sub("_(bucket|sum|count)$", "", name) for name in re.findall(r"bookmarks_service_\w+", rule["expr"])}
        of_granian = set(re.findall(r"granian_\w+", rule["expr"]))  # They are looked for at Granian below.
        assert used or of_granian
        assert used <= documented


def test_all_operations_are_counted_by_their_id(measured):
    for path, methods in SchemaGenerator().get_schema(public=True)["paths"].items():
        for method, operation in methods.items():
            request = RequestFactory().generic(method.upper(), path)
            request.resolver_match = resolve(path)
            observe(request, 299, 0.001)
            assert measured(REQUESTS, operation=operation["operationId"], status="299") == 1


OTHER_OPERATIONS = [
    ("/", "index"), ("/docs/", "docs"), ("/docs", "other"), ("/unknown", "other"), ("/admin/login/", "login"),
    ("/admin/unknown/", "other"), ("/livez", "other"),
]  # fmt: skip


@pytest.mark.parametrize(("path", "operation"), OTHER_OPERATIONS)
def test_other_paths_are_counted_by_the_name_of_the_page(measured, client, db, path, operation):
    with closing(client.get(path)) as response:
        assert measured(REQUESTS, operation=operation, status=str(response.status_code)) == 1


def test_arbitrary_requests_add_few_series(measured, client):
    client.get("/unknown")
    client.generic("PURGE", "/api/user")
    before = len(values())

    for n in range(100):
        client.generic(f"M{n % 10}", f"/v1/{n}/{n}?n={n}")
        client.generic(f"M{n % 10}", "/api/user")

    assert measured(REQUESTS, operation="other", status="405") == 101
    assert len(values()) == before


# The servers


class MeteredService(Service):
    """A service with two workers, whose metrics can be scraped."""

    def __init__(self, folder, database_url):
        self.folder = folder / "metrics"
        self.folder.mkdir()
        self.granian_port, self.metrics_port = free_port(), free_port()
        super().__init__(
            folder, database_url,
            PROMETHEUS_MULTIPROC_DIR=str(self.folder), GRANIAN_RESPAWN_INTERVAL="0.1",
            GRANIAN_METRICS_ENABLED="true", GRANIAN_METRICS_PORT=str(self.granian_port),
            GRANIAN_METRICS_SCRAPE_INTERVAL="1",
        )  # fmt: skip

    def scrape(self, port=None):
        url = f"http://127.0.0.1:{port or self.metrics_port}/metrics"
        response = httpx.get(url, timeout=TIMEOUT, verify=CERTIFICATES)
        assert response.status_code == 200
        return response.text

    def families(self):
        return list(text_string_to_metric_families(self.scrape()))


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    """Run the service, and beside it the process that serves its metrics."""
    folder = tmp_path_factory.mktemp("metrics")
    with empty_database(folder) as database_url, MeteredService(folder, database_url) as running:
        options = ["--interface", "wsgi", "--port", str(running.metrics_port), "--no-metrics"]
        command = [sys.executable, "-m", "granian", *options, "bookmarks_service.metrics_server:application"]
        variables = environment(PROMETHEUS_MULTIPROC_DIR=str(running.folder))  # and no settings of the service
        log = folder / "metrics_server.log"

        def is_ready():
            return workers_have_started(log) and listens(running.metrics_port)

        with running_server(command, log, is_ready, cwd=ROOT, env=variables):
            wait_until(lambda: listens(running.granian_port))
            yield running


def granian_values(service, name):
    scraped = service.scrape(service.granian_port)
    return [int(value) for value in re.findall(rf"^{name}(?:{{.*}})? (\d+)$", scraped, re.MULTILINE)]


def test_the_metrics_contain_nothing_of_a_request(service):
    service.update_user_group(name="Private name")
    service.create_bookmark(url="https://private.example/")
    service.request("GET", f"/private-path/{service.access_token}?token={service.api_token}")
    service.request("GET", "/v1/bookmarks", headers={"Authorization": f"Bearer {service.access_token}x"})
    scraped = (service.scrape() + service.scrape(service.granian_port)).lower()

    private = ["private", "127.0.0.1", "example_1", "uga_", "bma_", "v1/bookmarks", service.password.lower()]
    assert [each for each in private if each in scraped] == []
    assert service.request("GET", "/metrics").status_code == 404
    assert 'operation="create_bookmark"' in scraped


def test_granian_counts_connections_and_workers(service):
    """The metrics that the document names."""
    named = set(re.findall(r"granian_\w+", section("observability", "Metrics")))

    with closing(service.connect()):
        wait_until(lambda: sum(granian_values(service, "granian_connections_active")) > 0)

    assert named
    assert {name for name in named if not granian_values(service, name)} == set()


def test_all_metrics_are_documented_with_their_labels(service):
    service.update_user_group()
    found = {}
    for family in service.families():
        for sample in family.samples:
            name = re.sub("_(bucket|sum|count)$", "", sample.name)
            found.setdefault(name, set()).update(sample.labels.keys() - {"le"})

    table = rows(section("observability", "Metrics"))
    documented = {row[0].strip("`"): set(re.findall(r"`(\w+)`", row[1])) for row in table if "bookmarks_s" in row[0]}
    assert documented == found
