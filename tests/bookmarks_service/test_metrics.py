"""What is measured for Prometheus. test_metrics_server.py tests how it is served."""

import re
from contextlib import closing

import promql_parser
import pytest
import yaml
from django.test import RequestFactory
from django.urls import resolve
from drf_spectacular.generators import SchemaGenerator
from prometheus_client import REGISTRY

from bookmarks_service.metrics import observe
from tests.documents import ROOT, names, section

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
        of_granian = set(re.findall(r"granian_\w+", rule["expr"]))  # test_metrics_server.py finds those at Granian.
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
