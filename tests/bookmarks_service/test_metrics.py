"""Prometheus metrics: what is measured, and how the metrics of two processes
are served.
"""

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
from tests.bookmarks_service.service import (
    Service,
    empty_database,
    environment,
    workers_have_started,
)
from tests.documents import ROOT, names, rows, section
from tests.servers import CERTIFICATES, TIMEOUT, free_port, listens, running_server

REQUESTS = "bookmarks_service_requests_total"

pytestmark = pytest.mark.database_independent


@pytest.fixture
def measured(settings):
    """Measure the requests of Django's test client.

    Return a function that returns the increase of a value.
    """
    settings.PROMETHEUS_MULTIPROC_DIR = (
        "unused, because the metrics of this process are in its memory"
    )
    before = values()
    return lambda name, **labels: (
        values().get(key(name, labels), 0) - before.get(key(name, labels), 0)
    )


def key(name, labels):
    return name, *sorted(labels.items())


def values():
    """Return the metrics of the service in this process, by their names and
    labels.
    """
    own = "bookmarks_service_"
    families = [each for each in REGISTRY.collect() if each.name.startswith(own)]
    return {
        key(each.name, each.labels): each.value
        for family in families
        for each in family.samples
    }


def test_the_documented_alerts_are_valid():
    documented = names(section("observability", "Metrics"))
    alerts = yaml.safe_load((ROOT / "docs/examples/alerts.yaml").read_text())
    [group] = alerts["groups"]
    rules = group["rules"]

    assert len(rules) == 2
    for rule in rules:
        promql_parser.parse(rule["expr"])
        used = {
            re.sub("_(bucket|sum|count)$", "", name)
            for name in re.findall(r"bookmarks_service_\w+", rule["expr"])
        }
        assert used
        assert used <= documented


def test_all_operations_are_counted_by_their_id(measured):
    for path, methods in SchemaGenerator().get_schema(public=True)["paths"].items():
        for method, operation in methods.items():
            request = RequestFactory().generic(method.upper(), path)
            request.resolver_match = resolve(path)
            observe(request, 299, 0.001)  # a status that no other request has
            labels = {"operation": operation["operationId"], "status": "299"}
            assert measured(REQUESTS, **labels) == 1


OTHER_OPERATIONS = [
    ("/", "index"),
    ("/docs/", "docs"),
    ("/docs", "other"),
    ("/unknown", "other"),
    ("/admin/login/", "login"),
    ("/admin/unknown/", "other"),
    ("/livez", "other"),
]


@pytest.mark.parametrize(("path", "operation"), OTHER_OPERATIONS)
def test_other_paths_are_counted_by_the_name_of_the_page(
    measured, client, db, path, operation
):
    with closing(client.get(path)) as response:
        labels = {"operation": operation, "status": str(response.status_code)}
        assert measured(REQUESTS, **labels) == 1


def test_arbitrary_requests_add_few_series(measured, client):
    client.get("/unknown")
    client.generic("PURGE", "/api/user")
    before = len(values())

    for n in range(100):
        client.generic(f"M{n % 10}", f"/v1/{n}/{n}?n={n}")
        client.generic(f"M{n % 10}", "/api/user")

    # one PURGE and M0 to M9 ten times each
    assert measured(REQUESTS, operation="other", status="405") == 101
    assert len(values()) == before


# The servers


@pytest.fixture(scope="module")
def metered(tmp_path_factory):
    """Yield a service with two workers, and a function that returns its
    metrics.
    """
    folder = tmp_path_factory.mktemp("metrics")
    log = folder / "metrics_server.log"
    port = free_port()
    metrics = folder / "metrics"
    metrics.mkdir()
    variables = {"PROMETHEUS_MULTIPROC_DIR": str(metrics)}
    options = ["--interface", "wsgi", "--port", str(port), "--no-metrics"]
    application = "bookmarks_service.metrics_server:application"
    command = [sys.executable, "-m", "granian", *options, application]

    def is_ready():
        return workers_have_started(log) and listens(port)

    def scrape():
        response = httpx.get(
            f"http://127.0.0.1:{port}/metrics", timeout=TIMEOUT, verify=CERTIFICATES
        )
        return response.raise_for_status().text

    with (
        empty_database(folder) as database_url,
        Service(folder, database_url, **variables) as service,
        # The metrics server needs no settings of the service.
        running_server(command, log, is_ready, cwd=ROOT, env=environment(**variables)),
    ):
        yield service, scrape


def test_the_metrics_contain_nothing_of_a_request(metered):
    service, scrape = metered
    service.update_user_group(name="Private name")
    service.create_bookmark(url="https://private.example/")
    secrets = f"{service.access_token}?token={service.api_token}"
    service.request("GET", f"/private-path/{secrets}")
    headers = {"Authorization": f"Bearer {service.access_token}x"}
    service.request("GET", "/v1/bookmarks", headers=headers)
    scraped = scrape().lower()

    private = ["private", "127.0.0.1", "example_1", "uga_", "bma_", "v1/bookmarks"]
    for text in (*private, service.password.lower()):
        assert text not in scraped
    assert service.request("GET", "/metrics").status_code == 404
    assert 'operation="create_bookmark"' in scraped


def test_all_metrics_are_documented_with_their_labels(metered):
    service, scrape = metered
    service.update_user_group()
    found = {}
    for family in text_string_to_metric_families(scrape()):
        for sample in family.samples:
            name = re.sub("_(bucket|sum|count)$", "", sample.name)
            # "le" is the bound of a bucket.
            found.setdefault(name, set()).update(sample.labels.keys() - {"le"})

    documented = {
        name.strip("`"): set(re.findall(r"`(\w+)`", labels))
        for name, labels, *_ in rows(section("observability", "Metrics"))
        if "bookmarks_service_" in name
    }
    assert documented == found
